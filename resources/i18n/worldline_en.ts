<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en">
<context>
    <name>ApprovalDialog</name>
    <message numerus="yes">
        <source>%n more line(s) below are not in sight yet. End shows them.</source>
        <translation>
            <numerusform>%n more line below is not in sight yet. End shows it.</numerusform>
            <numerusform>%n more lines below are not in sight yet. End shows them.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n more part(s) are underlined</source>
        <translation>
            <numerusform>%n more part is underlined</numerusform>
            <numerusform>%n more parts are underlined</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n more changed line(s) cannot be shown here: the file is longer than this window shows.</source>
        <translation>
            <numerusform>%n more changed line cannot be shown here: the file is longer than this window shows.</numerusform>
            <numerusform>%n more changed lines cannot be shown here: the file is longer than this window shows.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ApprovalRow</name>
    <message numerus="yes">
        <source>%n more line(s), under “More choices…”</source>
        <translation>
            <numerusform>%n more line, under “More choices…”</numerusform>
            <numerusform>%n more lines, under “More choices…”</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>BranchSummaryDialog</name>
    <message numerus="yes">
        <source>The branch you leave has %n step(s) that the model of the new one does not know.</source>
        <translation>
            <numerusform>The branch you leave has %n step that the model of the new one does not know.</numerusform>
            <numerusform>The branch you leave has %n steps that the model of the new one does not know.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>BringHomeDialog</name>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>… and %n more</numerusform>
            <numerusform>… and %n more</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) would change.</source>
        <translation>
            <numerusform>%n file would change.</numerusform>
            <numerusform>%n files would change.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ChangesPane</name>
    <message numerus="yes">
        <source>%n file(s)</source>
        <translation>
            <numerusform>%n file</numerusform>
            <numerusform>%n files</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ChipStrip</name>
    <message numerus="yes">
        <source>%n line(s)</source>
        <translation>
            <numerusform>%n line</numerusform>
            <numerusform>%n lines</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Closing</name>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>… and %n more</numerusform>
            <numerusform>… and %n more</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>CompareView</name>
    <message numerus="yes">
        <source>%n file(s)</source>
        <translation>
            <numerusform>%n file</numerusform>
            <numerusform>%n files</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message numerus="yes">
        <source>Making %n picture(s) ready…</source>
        <translation>
            <numerusform>Making %n picture ready…</numerusform>
            <numerusform>Making %n pictures ready…</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Composing</name>
    <message numerus="yes">
        <source>%n attachment(s) too large to be kept if the window closes: send it first.</source>
        <translation>
            <numerusform>%n attachment is too large to be kept if the window closes: send it first.</numerusform>
            <numerusform>%n attachments are too large to be kept if the window closes: send them first.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>DividerRow</name>
    <message numerus="yes">
        <source>%n remark(s) on the files</source>
        <translation>
            <numerusform>%n remark on the files</numerusform>
            <numerusform>%n remarks on the files</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n thing(s) not captured</source>
        <translation>
            <numerusform>%n thing not captured</numerusform>
            <numerusform>%n things not captured</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>FoldersDialog</name>
    <message numerus="yes">
        <source>%n folder(s) take {size}.</source>
        <translation>
            <numerusform>%n folder takes {size}.</numerusform>
            <numerusform>%n folders take {size}.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n thing(s)</source>
        <translation>
            <numerusform>%n thing</numerusform>
            <numerusform>%n things</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>HoverCard</name>
    <message numerus="yes">
        <source>%n file(s) changed, +{a} −{r}</source>
        <translation>
            <numerusform>%n file changed, +{a} −{r}</numerusform>
            <numerusform>%n files changed, +{a} −{r}</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ImportDialog</name>
    <message numerus="yes">
        <source>%n node(s)</source>
        <translation>
            <numerusform>%n node</numerusform>
            <numerusform>%n nodes</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n branch(es)</source>
        <translation>
            <numerusform>%n branch</numerusform>
            <numerusform>%n branches</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n place(s) were damaged; the first: line {line}, {why}</source>
        <translation>
            <numerusform>%n place was damaged: line {line}, {why}</numerusform>
            <numerusform>%n places were damaged; the first: line {line}, {why}</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>JumpPlanDialog</name>
    <message numerus="yes">
        <source>%n file(s) will be put back</source>
        <translation>
            <numerusform>%n file will be put back</numerusform>
            <numerusform>%n files will be put back</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) stay: not made by the agent</source>
        <translation>
            <numerusform>%n file stays: not made by the agent</numerusform>
            <numerusform>%n files stay: not made by the agent</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) were never captured</source>
        <translation>
            <numerusform>%n file was never captured</numerusform>
            <numerusform>%n files were never captured</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>… and %n more</numerusform>
            <numerusform>… and %n more</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n more file(s) stay: changed by you or in the background</source>
        <translation>
            <numerusform>%n more file stays: changed by you or in the background</numerusform>
            <numerusform>%n more files stay: changed by you or in the background</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n more file(s) of yours stay</source>
        <translation>
            <numerusform>%n more file of yours stays</numerusform>
            <numerusform>%n more files of yours stay</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>LossWords</name>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>… and %n more</numerusform>
            <numerusform>… and %n more</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n thing(s) would be nowhere any more.</source>
        <translation>
            <numerusform>%n thing would be nowhere any more.</numerusform>
            <numerusform>%n things would be nowhere any more.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ModelViewDialog</name>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n message</numerusform>
            <numerusform>%n messages</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tool(s)</source>
        <translation>
            <numerusform>%n tool</numerusform>
            <numerusform>%n tools</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Recovering</name>
    <message numerus="yes">
        <source>%n step(s) are saved in {path}.</source>
        <translation>
            <numerusform>%n step is saved in {path}.</numerusform>
            <numerusform>%n steps are saved in {path}.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>… and %n more</numerusform>
            <numerusform>… and %n more</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>SessionDeleteDialog</name>
    <message numerus="yes">
        <source>%n node(s) with all that was said go with it.</source>
        <translation>
            <numerusform>%n node with all that was said goes with it.</numerusform>
            <numerusform>%n nodes with all that was said go with it.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>SessionImport</name>
    <message numerus="yes">
        <source>Importing %n file(s)…</source>
        <translation>
            <numerusform>Importing %n file…</numerusform>
            <numerusform>Importing %n files…</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) imported.</source>
        <translation>
            <numerusform>%n file imported.</numerusform>
            <numerusform>%n files imported.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n node(s) came of it.</source>
        <translation>
            <numerusform>%n node came of it.</numerusform>
            <numerusform>%n nodes came of it.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) could not be imported.</source>
        <translation>
            <numerusform>%n file could not be imported.</numerusform>
            <numerusform>%n files could not be imported.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n place(s) could not be read.</source>
        <translation>
            <numerusform>%n place could not be read.</numerusform>
            <numerusform>%n places could not be read.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>SessionsDialog</name>
    <message numerus="yes">
        <source>%n node(s)</source>
        <translation>
            <numerusform>%n node</numerusform>
            <numerusform>%n nodes</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n session(s) found.</source>
        <translation>
            <numerusform>%n session found.</numerusform>
            <numerusform>%n sessions found.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n node(s) with all that was said go with it.</source>
        <translation>
            <numerusform>%n node with all that was said goes with it.</numerusform>
            <numerusform>%n nodes with all that was said go with it.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>StartView</name>
    <message numerus="yes">
        <source>%n node(s)</source>
        <translation>
            <numerusform>%n node</numerusform>
            <numerusform>%n nodes</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>StorageDialog</name>
    <message numerus="yes">
        <source>%n day(s)</source>
        <translation>
            <numerusform>%n day</numerusform>
            <numerusform>%n days</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n session(s) take {size} on this computer.</source>
        <translation>
            <numerusform>%n session takes {size} on this computer.</numerusform>
            <numerusform>%n sessions take {size} on this computer.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>This one takes {size}: {said} for what was said, {files} for %n kept state(s) of its files.</source>
        <translation>
            <numerusform>This one takes {size}: {said} for what was said, {files} for %n kept state of its files.</numerusform>
            <numerusform>This one takes {size}: {said} for what was said, {files} for %n kept states of its files.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n step(s) would lose their files; what was said stays. About {size} become free.</source>
        <translation>
            <numerusform>%n step would lose its files; what was said stays. About {size} become free.</numerusform>
            <numerusform>%n steps would lose their files; what was said stays. About {size} become free.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n state(s) can go and no step loses anything. About {size} become free.</source>
        <translation>
            <numerusform>%n state can go and no step loses anything. About {size} become free.</numerusform>
            <numerusform>%n states can go and no step loses anything. About {size} become free.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n step(s)</source>
        <translation>
            <numerusform>%n step</numerusform>
            <numerusform>%n steps</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>Remove the files of %n step(s)?</source>
        <translation>
            <numerusform>Remove the files of %n step?</numerusform>
            <numerusform>Remove the files of %n steps?</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Thinking</name>
    <message numerus="yes">
        <source>Thought, %n word(s)</source>
        <translation>
            <numerusform>Thought, %n word</numerusform>
            <numerusform>Thought, %n words</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ToolCard</name>
    <message numerus="yes">
        <source>%n file(s)</source>
        <translation>
            <numerusform>%n file</numerusform>
            <numerusform>%n files</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n not captured</source>
        <translation>
            <numerusform>%n not captured</numerusform>
            <numerusform>%n not captured</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n line(s) before</source>
        <translation>
            <numerusform>%n line before</numerusform>
            <numerusform>%n lines before</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n more line(s)</source>
        <translation>
            <numerusform>%n more line</numerusform>
            <numerusform>%n more lines</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>WaitingBar</name>
    <message numerus="yes">
        <source> · and %n more</source>
        <translation>
            <numerusform> · and %n more</numerusform>
            <numerusform> · and %n more</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>WindowNotices</name>
    <message numerus="yes">
        <source>%n file(s) put back and verified</source>
        <translation>
            <numerusform>%n file put back and verified</numerusform>
            <numerusform>%n files put back and verified</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Windows</name>
    <message numerus="yes">
        <source>Open %n sessions?</source>
        <translation>
            <numerusform>Open %n session?</numerusform>
            <numerusform>Open %n sessions?</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>window</name>
    <message numerus="yes">
        <source>The files of %n step(s) are older than you want to keep.</source>
        <translation>
            <numerusform>The files of %n step are older than you want to keep.</numerusform>
            <numerusform>The files of %n steps are older than you want to keep.</numerusform>
        </translation>
    </message>
</context>
</TS>
