<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN">
<context>
    <name></name>
    <message>
        <source>Go here</source>
        <translation>前往这里</translation>
    </message>
    <message>
        <source>Compare with where I am</source>
        <translation>与我所在处比较</translation>
    </message>
    <message>
        <source>Compare the {n} chosen nodes</source>
        <translation>比较选中的 {n} 个节点</translation>
    </message>
    <message>
        <source>Show what changed since here</source>
        <translation>显示此后改动了什么</translation>
    </message>
    <message>
        <source>Choose for Compare</source>
        <translation>选入比较</translation>
    </message>
    <message>
        <source>Label…</source>
        <translation>标签…</translation>
    </message>
    <message>
        <source>Note…</source>
        <translation>备注…</translation>
    </message>
    <message>
        <source>What the model saw</source>
        <translation>模型看到的内容</translation>
    </message>
    <message>
        <source>Copy the text</source>
        <translation>复制文本</translation>
    </message>
    <message>
        <source>Copy the node&apos;s id</source>
        <translation>复制节点编号</translation>
    </message>
    <message>
        <source>Leave this out for the model</source>
        <translation>不让模型看到这一项</translation>
    </message>
    <message>
        <source>Tell the model something else instead…</source>
        <translation>改为告诉模型别的内容…</translation>
    </message>
    <message>
        <source>Expand summaries from the originals…</source>
        <translation>用原文展开摘要…</translation>
    </message>
    <message>
        <source>Bring to my branch…</source>
        <translation>带到我的分支…</translation>
    </message>
    <message>
        <source>Export this branch…</source>
        <translation>导出此分支…</translation>
    </message>
</context>
<context>
    <name>AboutDialog</name>
    <message>
        <source>Version {}</source>
        <translation>版本 {}</translation>
    </message>
    <message>
        <source>Work with a coding agent and see the whole session as a tree. Every step knows what the agent was told, what the files looked like, and what no click can take back.</source>
        <translation>与编程智能体一起工作，并以树的形式看到整个会话。每一步都记得智能体被告知了什么、文件当时的样子，以及哪些事无法靠点击撤回。</translation>
    </message>
    <message>
        <source>MIT licence. Made with Qt for Python (LGPL), libgit2, SQLite and others.</source>
        <translation>MIT 许可。使用 Qt for Python（LGPL）、libgit2、SQLite 等构建。</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>AppearancePage</name>
    <message>
        <source>as the system</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <source>light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>high contrast</source>
        <translation>高对比度</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
    <message>
        <source>small</source>
        <translation>小</translation>
    </message>
    <message>
        <source>normal</source>
        <translation>标准</translation>
    </message>
    <message>
        <source>large</source>
        <translation>大</translation>
    </message>
    <message>
        <source>very large</source>
        <translation>特大</translation>
    </message>
    <message>
        <source>Size of the text</source>
        <translation>文字大小</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Less movement</source>
        <translation>减少动画</translation>
    </message>
    <message>
        <source>Motion</source>
        <translation>动画</translation>
    </message>
</context>
<context>
    <name>ApprovalDialog</name>
    <message>
        <source>Why not, and what instead? This goes to the agent.</source>
        <translation>为什么不行，应当怎么做？这会告诉智能体。</translation>
    </message>
    <message>
        <source>Reason for denying</source>
        <translation>拒绝的理由</translation>
    </message>
    <message>
        <source>Deny  Esc</source>
        <translation>拒绝  Esc</translation>
    </message>
    <message>
        <source>Edit command</source>
        <translation>编辑命令</translation>
    </message>
    <message>
        <source>Deny with a reason…</source>
        <translation>说明理由并拒绝…</translation>
    </message>
    <message>
        <source>The agent is told that you said no, and looks for another way.</source>
        <translation>智能体会得知你拒绝了，并另寻他法。</translation>
    </message>
    <message>
        <source>Allow  Ctrl+⏎</source>
        <translation>允许  Ctrl+⏎</translation>
    </message>
    <message>
        <source>Read to the end first: there is more below.</source>
        <translation>请先读到末尾：下面还有内容。</translation>
    </message>
    <message numerus="yes">
        <source>%n more line(s) below are not in sight yet. End shows them.</source>
        <translation>
            <numerusform>下面还有 %n 行未显示。按 End 键显示。</numerusform>
        </translation>
    </message>
    <message>
        <source>Edit the text</source>
        <translation>编辑文本</translation>
    </message>
    <message numerus="yes">
        <source>%n more part(s) are underlined</source>
        <translation>
            <numerusform>另有 %n 处已加下划线</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n more changed line(s) cannot be shown here: the file is longer than this window shows.</source>
        <translation>
            <numerusform>另有 %n 行更改无法在此显示：文件超出此窗口可显示的长度。</numerusform>
        </translation>
    </message>
    <message>
        <source>Why asked</source>
        <translation>询问原因</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Copy first</source>
        <translation>先备份</translation>
    </message>
    <message>
        <source>The agent says</source>
        <translation>智能体说</translation>
    </message>
    <message>
        <source>once</source>
        <translation>仅此一次</translation>
    </message>
    <message>
        <source>this branch</source>
        <translation>本分支</translation>
    </message>
    <message>
        <source>this session</source>
        <translation>本会话</translation>
    </message>
    <message>
        <source>always here: {}</source>
        <translation>在此始终允许：{}</translation>
    </message>
    <message>
        <source>This rule is written to your settings: {}</source>
        <translation>将写入设置的规则：{}</translation>
    </message>
    <message>
        <source>“This branch” and “this session” allow: {}.</source>
        <translation>“本分支”和“本会话”允许的是：{}。</translation>
    </message>
    <message>
        <source>“This branch” allows: {}.</source>
        <translation>“本分支”允许的是：{}。</translation>
    </message>
    <message>
        <source>“This session” allows: {}.</source>
        <translation>“本会话”允许的是：{}。</translation>
    </message>
    <message>
        <source>1 of {} waiting</source>
        <translation>共 {} 项等待，这是第 1 项</translation>
    </message>
    <message>
        <source>Command, edited</source>
        <translation>编辑后的命令</translation>
    </message>
    <message>
        <source>Keep as it was</source>
        <translation>保持原样</translation>
    </message>
</context>
<context>
    <name>ApprovalRow</name>
    <message numerus="yes">
        <source>%n more line(s), under “More choices…”</source>
        <translation>
            <numerusform>还有 %n 行，见“更多选择……”</numerusform>
        </translation>
    </message>
    <message>
        <source>More choices…</source>
        <translation>更多选择…</translation>
    </message>
    <message>
        <source>Deny</source>
        <translation>拒绝</translation>
    </message>
    <message>
        <source>Allow once</source>
        <translation>允许一次</translation>
    </message>
    <message>
        <source>Too long for the chat: read it under “More choices…”, and allow it there.</source>
        <translation>内容过长，对话中放不下：请在“更多选择……”中阅读并允许。</translation>
    </message>
    <message>
        <source>Waits for your approval: {}</source>
        <translation>等待你批准：{}</translation>
    </message>
</context>
<context>
    <name>BranchSummaryDialog</name>
    <message>
        <source>Leave this branch</source>
        <translation>离开此分支</translation>
    </message>
    <message numerus="yes">
        <source>The branch you leave has %n step(s) that the model of the new one does not know.</source>
        <translation>
            <numerusform>你离开的分支有 %n 个步骤，新分支的模型并不知道。</numerusform>
        </translation>
    </message>
    <message>
        <source>Start clean: the new branch knows nothing of it</source>
        <translation>从头开始：新分支对此一无所知</translation>
    </message>
    <message>
        <source>Pass on a summary: what was tried and how it ended</source>
        <translation>传递摘要：尝试了什么、结果如何</translation>
    </message>
    <message>
        <source>Pass on a summary about:</source>
        <translation>传递摘要，主题为：</translation>
    </message>
    <message>
        <source>for example: why the tokenizer failed</source>
        <translation>例如：分词器为什么失败</translation>
    </message>
    <message>
        <source>What the summary should be about</source>
        <translation>摘要的主题</translation>
    </message>
    <message>
        <source>A summary is one request to the model and becomes a node of its own.</source>
        <translation>摘要会向模型发出一次请求，并成为一个独立节点。</translation>
    </message>
    <message>
        <source>Go</source>
        <translation>前往</translation>
    </message>
</context>
<context>
    <name>BringHomeDialog</name>
    <message>
        <source>Bring to my branch</source>
        <translation>带到我的分支</translation>
    </message>
    <message>
        <source>Your branch {} gets the work of this node. Until you press the button, nothing changes.</source>
        <translation>你的分支 {} 将得到此节点的成果。按下按钮之前什么都不会改变。</translation>
    </message>
    <message>
        <source>Your folder gets the work of this node. Until you press the button, nothing changes.</source>
        <translation>你的文件夹将得到此节点的成果。按下按钮之前什么都不会改变。</translation>
    </message>
    <message>
        <source>as uncommitted changes in my folder</source>
        <translation>作为我文件夹中未提交的更改</translation>
    </message>
    <message>
        <source>as one commit on my branch</source>
        <translation>作为我分支上的一个提交</translation>
    </message>
    <message>
        <source>as a branch that I merge myself</source>
        <translation>作为由我自己合并的分支</translation>
    </message>
    <message>
        <source>Commit message</source>
        <translation>提交说明</translation>
    </message>
    <message>
        <source>Name of the branch</source>
        <translation>分支名称</translation>
    </message>
    <message>
        <source>What would happen</source>
        <translation>将会发生什么</translation>
    </message>
    <message>
        <source>Bring it</source>
        <translation>带过去</translation>
    </message>
    <message>
        <source>Bringing it…</source>
        <translation>正在带过去……</translation>
    </message>
    <message>
        <source>Give the branch a name.</source>
        <translation>请为分支命名。</translation>
    </message>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>……另有 %n 项</numerusform>
        </translation>
    </message>
    <message>
        <source>keep mine</source>
        <translation>保留我的</translation>
    </message>
    <message>
        <source>take this one</source>
        <translation>采用这一份</translation>
    </message>
    <message>
        <source>Conflict in {}</source>
        <translation>{} 有冲突</translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) would change.</source>
        <translation>
            <numerusform>将更改 %n 个文件。</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ChangesPane</name>
    <message>
        <source>CHANGES</source>
        <translation>更改</translation>
    </message>
    <message>
        <source>Compared with</source>
        <translation>对比对象</translation>
    </message>
    <message>
        <source>what fits the step</source>
        <translation>自动选择</translation>
    </message>
    <message>
        <source>vs the step before</source>
        <translation>与上一步相比</translation>
    </message>
    <message>
        <source>this attempt so far</source>
        <translation>本次尝试至今</translation>
    </message>
    <message>
        <source>vs the start of the session</source>
        <translation>与会话开始时相比</translation>
    </message>
    <message>
        <source>vs the files on disk</source>
        <translation>与磁盘上的文件相比</translation>
    </message>
    <message>
        <source>“What fits the step” shows a step that changed files against the one before, and any other against where its attempt began.</source>
        <translation>“自动选择”：改动了文件的步骤与上一步比较，其他步骤与本次尝试的起点比较。</translation>
    </message>
    <message>
        <source>Show as a tree</source>
        <translation>以树形显示</translation>
    </message>
    <message>
        <source>vs “{}”</source>
        <translation>与“{}”比较</translation>
    </message>
    <message>
        <source>counting lines…</source>
        <translation>正在统计行数…</translation>
    </message>
    <message>
        <source>The files on disk are as they were at this step.</source>
        <translation>磁盘上的文件与此步骤时相同。</translation>
    </message>
    <message>
        <source>This is the step that others are compared with. Choose another one in the tree.</source>
        <translation>其他步骤正是与这一步比较。请在树中选择另一步。</translation>
    </message>
    <message>
        <source>No files changed in this step. Choose a step with +n −m in the tree, or compare with the start.</source>
        <translation>此步骤没有更改文件。请在树中选择带 +n −m 的步骤，或与开始时比较。</translation>
    </message>
    <message>
        <source>No file is different here. Steps that change files have +n −m in the tree.</source>
        <translation>这里没有不同的文件。改动文件的步骤在树中带有 +n −m。</translation>
    </message>
    <message>
        <source>The session is open for reading only.</source>
        <translation>会话以只读方式打开。</translation>
    </message>
    <message numerus="yes">
        <source>%n file(s)</source>
        <translation>
            <numerusform>%n 个文件</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ChatPane</name>
    <message>
        <source>↓ New text</source>
        <translation>↓ 新内容</translation>
    </message>
    <message>
        <source>You look at “{title}”. The files are still as they were where you are.</source>
        <translation>你正在查看“{title}”。文件仍是你所在位置的样子。</translation>
    </message>
    <message>
        <source>New session</source>
        <translation>新会话</translation>
    </message>
    <message>
        <source>Chat: {}</source>
        <translation>对话：{}</translation>
    </message>
    <message>
        <source>Waits for your approval: {}</source>
        <translation>等待你批准：{}</translation>
    </message>
    <message>
        <source>The agent asks: {}</source>
        <translation>智能体提问：{}</translation>
    </message>
    <message>
        <source>approve “{}”</source>
        <translation>批准“{}”</translation>
    </message>
    <message>
        <source>Whole output</source>
        <translation>完整输出</translation>
    </message>
</context>
<context>
    <name>ChatView</name>
    <message>
        <source>Conversation</source>
        <translation>对话</translation>
    </message>
</context>
<context>
    <name>ChipStrip</name>
    <message>
        <source>Send this now</source>
        <translation>立即发送</translation>
    </message>
    <message>
        <source>Take out of the queue: the words come back into the field</source>
        <translation>移出队列：文字会回到输入框</translation>
    </message>
    <message numerus="yes">
        <source>%n line(s)</source>
        <translation>
            <numerusform>%n 行</numerusform>
        </translation>
    </message>
    <message>
        <source>Pasted text · {}</source>
        <translation>粘贴的文本 · {}</translation>
    </message>
    <message>
        <source>Remove the text</source>
        <translation>移除文本</translation>
    </message>
    <message>
        <source>Image {} · {}</source>
        <translation>图片 {} · {}</translation>
    </message>
    <message>
        <source>Remove the image</source>
        <translation>移除图片</translation>
    </message>
</context>
<context>
    <name>Closing</name>
    <message>
        <source>Waits for your approval: {}</source>
        <translation>等待你批准：{}</translation>
    </message>
    <message>
        <source>Waits for your answer: {}</source>
        <translation>等待你回答：{}</translation>
    </message>
    <message>
        <source>The agent is at work: {}</source>
        <translation>智能体正在工作：{}</translation>
    </message>
    <message>
        <source>Runs in the background: {}</source>
        <translation>在后台运行：{}</translation>
    </message>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>……另有 %n 项</numerusform>
        </translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Close, and end what goes on?</source>
        <translation>关闭并结束正在进行的工作？</translation>
    </message>
    <message>
        <source>What was saved stays. What runs now is stopped.</source>
        <translation>已保存的内容会保留，正在运行的会被停止。</translation>
    </message>
    <message>
        <source>Close and end it</source>
        <translation>关闭并结束</translation>
    </message>
</context>
<context>
    <name>CodeBlock</name>
    <message>
        <source>Copy code</source>
        <translation>复制代码</translation>
    </message>
    <message>
        <source>text</source>
        <translation>文本</translation>
    </message>
    <message>
        <source>Show all {} lines</source>
        <translation>显示全部 {} 行</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
</context>
<context>
    <name>CodeView</name>
    <message>
        <source>Code</source>
        <translation>代码</translation>
    </message>
</context>
<context>
    <name>CompareDialog</name>
    <message>
        <source>Compare from “{}”</source>
        <translation>从“{}”开始比较</translation>
    </message>
    <message>
        <source>Compare from the start of “{}”</source>
        <translation>从“{}”的起点开始比较</translation>
    </message>
    <message>
        <source>Compare from the start</source>
        <translation>从起点开始比较</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>CompareView</name>
    <message>
        <source>Difference</source>
        <translation>差异</translation>
    </message>
    <message>
        <source>Left side</source>
        <translation>左侧</translation>
    </message>
    <message>
        <source>Right side</source>
        <translation>右侧</translation>
    </message>
    <message>
        <source>None of them has changed a file.</source>
        <translation>它们都没有更改文件。</translation>
    </message>
    <message>
        <source>ended</source>
        <translation>结束方式</translation>
    </message>
    <message>
        <source>checks</source>
        <translation>检查</translation>
    </message>
    <message>
        <source>changed</source>
        <translation>更改</translation>
    </message>
    <message>
        <source>cost · time · steps</source>
        <translation>费用 · 时间 · 步骤</translation>
    </message>
    <message>
        <source>cannot be undone</source>
        <translation>无法撤销</translation>
    </message>
    <message>
        <source>retries · fallbacks</source>
        <translation>重试 · 备用模型</translation>
    </message>
    <message>
        <source>note</source>
        <translation>备注</translation>
    </message>
    <message>
        <source>Where they part</source>
        <translation>分叉处</translation>
    </message>
    <message>
        <source>countered</source>
        <translation>已抵消</translation>
    </message>
    <message>
        <source>undone</source>
        <translation>已撤销</translation>
    </message>
    <message>
        <source>no end of a run</source>
        <translation>不是一次运行的结束</translation>
    </message>
    <message numerus="yes">
        <source>%n file(s)</source>
        <translation>
            <numerusform>%n 个文件</numerusform>
        </translation>
    </message>
    <message>
        <source>Steps, aligned until they part</source>
        <translation>步骤（对齐至分叉处）</translation>
    </message>
    <message>
        <source>File</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Files of each attempt</source>
        <translation>每次尝试的文件</translation>
    </message>
    <message>
        <source>Both sides are the same attempt.</source>
        <translation>两边是同一次尝试。</translation>
    </message>
    <message>
        <source>Attempt</source>
        <translation>尝试</translation>
    </message>
    <message>
        <source>Note: why did it fail?</source>
        <translation>备注：为什么失败？</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>备注</translation>
    </message>
    <message>
        <source>Continue {}</source>
        <translation>继续 {}</translation>
    </message>
    <message>
        <source>Take file from {}</source>
        <translation>从 {} 采用文件</translation>
    </message>
    <message>
        <source>Bring {} to my branch…</source>
        <translation>将 {} 带到我的分支…</translation>
    </message>
    <message>
        <source>Mark {} as failed</source>
        <translation>将 {} 标为失败</translation>
    </message>
</context>
<context>
    <name>CompletionList</name>
    <message>
        <source>Files to name</source>
        <translation>可引用的文件</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>{name} cannot be read as a picture.</source>
        <translation>无法将 {name} 作为图片读取。</translation>
    </message>
    <message>
        <source>Name a file (@)</source>
        <translation>引用文件（@）</translation>
    </message>
    <message>
        <source>Interrupt</source>
        <translation>打断</translation>
    </message>
    <message>
        <source>Stop the running step and send this now (Ctrl+Enter)</source>
        <translation>停止正在运行的步骤并立即发送（Ctrl+Enter）</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Stop the run. Everything produced so far is kept.</source>
        <translation>停止运行。已产生的内容都会保留。</translation>
    </message>
    <message>
        <source>Queue</source>
        <translation>排队</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>Sent after the step that is running (Enter)</source>
        <translation>在当前步骤之后发送（Enter）</translation>
    </message>
    <message>
        <source>Send (Enter)</source>
        <translation>发送（Enter）</translation>
    </message>
    <message numerus="yes">
        <source>Making %n picture(s) ready…</source>
        <translation>
            <numerusform>正在准备 %n 张图片……</numerusform>
        </translation>
    </message>
    <message>
        <source>The picture cannot be made ready: {why}</source>
        <translation>无法准备这张图片：{why}</translation>
    </message>
    <message>
        <source>≈ {} tokens</source>
        <translation>≈ {} 词元</translation>
    </message>
    <message>
        <source>Estimate of what is sent: the conversation so far and this message.</source>
        <translation>发送量估计：目前的对话加上这条消息。</translation>
    </message>
</context>
<context>
    <name>ComposerEdit</name>
    <message>
        <source>Message… @ names a file</source>
        <translation>输入消息… 用 @ 引用文件</translation>
    </message>
    <message>
        <source>Message to the agent</source>
        <translation>给智能体的消息</translation>
    </message>
    <message>
        <source>Let go to attach it</source>
        <translation>松开即可附上</translation>
    </message>
    <message>
        <source>Let go to name it in the message</source>
        <translation>松开即可在消息中引用</translation>
    </message>
    <message>
        <source>Let go to put the text here</source>
        <translation>松开即可把文字放到这里</translation>
    </message>
</context>
<context>
    <name>Composing</name>
    <message>
        <source>The engine is starting again. What you write stays here until you can send it.</source>
        <translation>引擎正在重新启动。你写的内容会留在这里，可以发送时再发送。</translation>
    </message>
    <message>
        <source>The engine is not running. What you write stays here until you can send it.</source>
        <translation>引擎没有运行。你写的内容会留在这里，可以发送时再发送。</translation>
    </message>
    <message>
        <source>This session is open for reading only.</source>
        <translation>此会话以只读方式打开。</translation>
    </message>
    <message numerus="yes">
        <source>%n attachment(s) too large to be kept if the window closes: send it first.</source>
        <translation>
            <numerusform>%n 个附件过大，关闭窗口后不会保留，请先发送。</numerusform>
        </translation>
    </message>
    <message>
        <source>What you write cannot be kept if the window closes: {why}</source>
        <translation>关闭窗口后将无法保留你写的内容：{why}</translation>
    </message>
</context>
<context>
    <name>DiagnosticsDialog</name>
    <message>
        <source>Diagnostics</source>
        <translation>诊断</translation>
    </message>
    <message>
        <source>Copy what is shown</source>
        <translation>复制所示内容</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>DiagnosticsPane</name>
    <message>
        <source>Kind</source>
        <translation>类型</translation>
    </message>
    <message>
        <source>all kinds</source>
        <translation>所有类型</translation>
    </message>
    <message>
        <source>Search what happened</source>
        <translation>搜索发生的事</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>What happened</source>
        <translation>发生了什么</translation>
    </message>
    <message>
        <source>Diagnostics</source>
        <translation>诊断</translation>
    </message>
    <message>
        <source>Nothing to report. Retries, repairs, fallbacks and cache misses would be listed here.</source>
        <translation>没有可报告的内容。重试、修复、备用模型和缓存未命中会列在这里。</translation>
    </message>
</context>
<context>
    <name>Dialog</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
</context>
<context>
    <name>DiffView</name>
    <message>
        <source>Diff</source>
        <translation>差异</translation>
    </message>
    <message>
        <source>{path}: {added} lines added, {removed} removed</source>
        <translation>{path}：新增 {added} 行，删除 {removed} 行</translation>
    </message>
    <message>
        <source>Written by you</source>
        <translation>由你编写</translation>
    </message>
    <message>
        <source>Removed by you</source>
        <translation>由你删除</translation>
    </message>
    <message>
        <source>Removed by you, or by a command that ran in the background</source>
        <translation>由你或由后台运行的命令删除</translation>
    </message>
    <message>
        <source>Written by you, or by a command that ran in the background</source>
        <translation>由你或由后台运行的命令编写</translation>
    </message>
    <message>
        <source>Written by: {}</source>
        <translation>编写者：{}</translation>
    </message>
    <message>
        <source>Removed by: {}</source>
        <translation>删除者：{}</translation>
    </message>
    <message>
        <source>No newline at end of file</source>
        <translation>文件末尾没有换行符</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Search this file…</source>
        <translation>在此文件中搜索…</translation>
    </message>
    <message>
        <source>Take this hunk</source>
        <translation>采用此块</translation>
    </message>
    <message>
        <source>Revert this hunk (what is there is saved first)</source>
        <translation>还原此块（会先保存现状）</translation>
    </message>
    <message>
        <source>Go to the step that wrote this</source>
        <translation>前往写下这段的步骤</translation>
    </message>
    <message>
        <source>from line {}</source>
        <translation>自第 {} 行起</translation>
    </message>
</context>
<context>
    <name>Divider</name>
    <message>
        <source>Start of the session</source>
        <translation>会话开始</translation>
    </message>
    <message>
        <source>{} · the files could not be captured</source>
        <translation>{} · 文件未能保存</translation>
    </message>
    <message>
        <source>{} other ways lead on from here</source>
        <translation>从这里还有 {} 条其他路线</translation>
    </message>
    <message>
        <source>Another way leads on from here</source>
        <translation>从这里还有另一条路线</translation>
    </message>
    <message>
        <source>{asked} could not answer; {model} answers for now.</source>
        <translation>{asked} 无法作答，暂由 {model} 作答。</translation>
    </message>
    <message>
        <source>{} answers in place of the model asked for.</source>
        <translation>由 {} 代替所请求的模型作答。</translation>
    </message>
    <message>
        <source>From here the model knows the first {} messages only as a summary.</source>
        <translation>从这里开始，模型只通过摘要了解前 {} 条消息。</translation>
    </message>
    <message>
        <source>From here the model knows what is above only as a summary.</source>
        <translation>从这里开始，模型只通过摘要了解上文。</translation>
    </message>
    <message>
        <source>Summary of the branch that was left</source>
        <translation>所离开分支的摘要</translation>
    </message>
    <message>
        <source>Files were changed {while_ran}</source>
        <translation>文件被更改，{while_ran}</translation>
    </message>
    <message>
        <source>Files were changed from outside, not by the agent</source>
        <translation>文件在外部被更改，并非智能体所为</translation>
    </message>
    <message>
        <source>Saved before a jump: what changed {while_ran}</source>
        <translation>跳转之前已保存的更改：{while_ran}</translation>
    </message>
    <message>
        <source>Saved before a jump: your edits are kept here</source>
        <translation>跳转前已保存：你的编辑保留在此</translation>
    </message>
    <message>
        <source>On this branch the model does not see a part of the history</source>
        <translation>在此分支上，模型看不到部分历史</translation>
    </message>
    <message>
        <source>Event of the imported session</source>
        <translation>导入会话的事件</translation>
    </message>
</context>
<context>
    <name>DividerRow</name>
    <message>
        <source>Hide</source>
        <translation>隐藏</translation>
    </message>
    <message numerus="yes">
        <source>%n remark(s) on the files</source>
        <translation>
            <numerusform>关于文件的 %n 条说明</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n thing(s) not captured</source>
        <translation>
            <numerusform>%n 项未捕获</numerusform>
        </translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>Show in the tree</source>
        <translation>在树中显示</translation>
    </message>
    <message>
        <source>Show changes</source>
        <translation>显示更改</translation>
    </message>
    <message>
        <source>Why</source>
        <translation>原因</translation>
    </message>
    <message>
        <source>As the model sees it</source>
        <translation>模型视角</translation>
    </message>
</context>
<context>
    <name>Drills</name>
    <message>
        <source>Fault drill</source>
        <translation>故障演练</translation>
    </message>
    <message>
        <source>Fault drill…</source>
        <translation>故障演练…</translation>
    </message>
    <message>
        <source>Fault drill: {title}</source>
        <translation>故障演练：{title}</translation>
    </message>
    <message>
        <source>Drill: “{title}”. The next request of the agent meets it; send a message to see what happens.</source>
        <translation>演练：“{title}”。智能体的下一次请求会遇到它；发送一条消息看看会发生什么。</translation>
    </message>
</context>
<context>
    <name>EffectsDialog</name>
    <message>
        <source>Done outside the workspace</source>
        <translation>工作区之外所做的事</translation>
    </message>
    <message>
        <source>Going to a node puts files back. These things are outside the files and stay as they are.</source>
        <translation>前往节点会恢复文件。这些事在文件之外，会保持原样。</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>On the way to here</source>
        <translation>在通往此处的路径上</translation>
    </message>
    <message>
        <source>On other branches, still in effect</source>
        <translation>在其他分支上，仍然有效</translation>
    </message>
    <message>
        <source>Still running</source>
        <translation>仍在运行</translation>
    </message>
    <message>
        <source>{command} · since {time}</source>
        <translation>{command} · 自 {time} 起</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Nothing was done outside the workspace.</source>
        <translation>没有在工作区之外做任何事。</translation>
    </message>
    <message>
        <source>listens on {ports}</source>
        <translation>监听端口 {ports}</translation>
    </message>
    <message>
        <source>reachable from this computer: {address}</source>
        <translation>此计算机可访问：{address}</translation>
    </message>
    <message>
        <source>Open {port} in browser</source>
        <translation>在浏览器中打开 {port}</translation>
    </message>
    <message>
        <source>Open in browser</source>
        <translation>在浏览器中打开</translation>
    </message>
    <message>
        <source>Close {port} again</source>
        <translation>重新关闭 {port}</translation>
    </message>
    <message>
        <source>Close again</source>
        <translation>重新关闭</translation>
    </message>
    <message>
        <source>can be undone</source>
        <translation>可以撤销</translation>
    </message>
    <message>
        <source>can be countered</source>
        <translation>可以抵消</translation>
    </message>
    <message>
        <source>cannot be undone</source>
        <translation>无法撤销</translation>
    </message>
    <message>
        <source>seen and allowed</source>
        <translation>已观察并允许</translation>
    </message>
    <message>
        <source>seen</source>
        <translation>已观察到</translation>
    </message>
    <message>
        <source>assumed</source>
        <translation>推定</translation>
    </message>
    <message>
        <source>guessed from the command</source>
        <translation>根据命令推测</translation>
    </message>
    <message>
        <source>undone</source>
        <translation>已撤销</translation>
    </message>
    <message>
        <source>countered</source>
        <translation>已抵消</translation>
    </message>
    <message>
        <source>Show the step</source>
        <translation>显示步骤</translation>
    </message>
</context>
<context>
    <name>EmptyChat</name>
    <message>
        <source>What should be done?</source>
        <translation>要做什么？</translation>
    </message>
    <message>
        <source>Write it below. Every step becomes a node of the tree on the left, with the files as they were.</source>
        <translation>写在下方即可。每一步都会成为左侧树上的节点，并保存当时的文件。</translation>
    </message>
    <message>
        <source>Click any node to go back there: files and conversation go back together, and nothing is lost.</source>
        <translation>点击任一节点即可回到那里：文件与对话一同回退，什么都不会丢失。</translation>
    </message>
    <message>
        <source>@ names a file · paste or drop images and files · Shift+Enter starts a new line</source>
        <translation>@ 引用文件 · 可粘贴或拖入图片和文件 · Shift+Enter 换行</translation>
    </message>
    <message>
        <source>Explain how this project is built</source>
        <translation>说明这个项目的结构</translation>
    </message>
    <message>
        <source>Find and fix a failing test</source>
        <translation>找到并修复失败的测试</translation>
    </message>
    <message>
        <source>Review my uncommitted changes</source>
        <translation>审查我未提交的更改</translation>
    </message>
    <message>
        <source>Puts these words into the message; nothing is sent yet</source>
        <translation>将这些文字放入消息框，尚不发送</translation>
    </message>
    <message>
        <source>This cannot be opened.</source>
        <translation>无法打开。</translation>
    </message>
</context>
<context>
    <name>ExpandDialog</name>
    <message>
        <source>Give the model the originals again?</source>
        <translation>再次向模型提供原文？</translation>
    </message>
    <message>
        <source>On this branch the summaries are replaced by the messages that they stand for. Requests become larger and cost more.</source>
        <translation>在此分支上，摘要将替换为它们所概括的消息。请求会变大，费用也会增加。</translation>
    </message>
    <message>
        <source>Nothing is deleted. If the originals do not fit, nothing is changed.</source>
        <translation>不会删除任何内容。如果原文放不下，则不作任何更改。</translation>
    </message>
    <message>
        <source>Expand</source>
        <translation>展开</translation>
    </message>
</context>
<context>
    <name>Exporting</name>
    <message>
        <source>This branch to read (*.md)</source>
        <translation>此分支，便于阅读 (*.md)</translation>
    </message>
    <message>
        <source>The whole tree as a page (*.html)</source>
        <translation>整棵树，作为网页 (*.html)</translation>
    </message>
    <message>
        <source>The whole session, nothing lost (*.jsonl)</source>
        <translation>整个会话，无任何丢失 (*.jsonl)</translation>
    </message>
    <message>
        <source>The whole session with its files, also ignored ones like .env, to open elsewhere (*.zip)</source>
        <translation>整个会话及其文件（包括 .env 等被忽略的文件），可在别处打开 (*.zip)</translation>
    </message>
    <message>
        <source>Export</source>
        <translation>导出</translation>
    </message>
    <message>
        <source>{path} could not be written: {why}. Export to another place.</source>
        <translation>无法写入 {path}：{why}。请导出到别处。</translation>
    </message>
    <message>
        <source>Exported to {path}.</source>
        <translation>已导出到 {path}。</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Show in folder</source>
        <translation>在文件夹中显示</translation>
    </message>
</context>
<context>
    <name>FileDiffPanel</name>
    <message>
        <source>Side by side</source>
        <translation>并排</translation>
    </message>
    <message>
        <source>Ignore whitespace</source>
        <translation>忽略空白</translation>
    </message>
    <message>
        <source>More context</source>
        <translation>更多上下文</translation>
    </message>
    <message>
        <source>Previous change (P)</source>
        <translation>上一处更改（P）</translation>
    </message>
    <message>
        <source>Next change (N)</source>
        <translation>下一处更改（N）</translation>
    </message>
    <message>
        <source>More</source>
        <translation>更多</translation>
    </message>
    <message>
        <source>Open in the editor</source>
        <translation>在编辑器中打开</translation>
    </message>
    <message>
        <source>Show in the folder</source>
        <translation>在文件夹中显示</translation>
    </message>
    <message>
        <source>Copy path</source>
        <translation>复制路径</translation>
    </message>
    <message>
        <source>Search this file…</source>
        <translation>在此文件中搜索…</translation>
    </message>
    <message>
        <source>Take this file from here onto the disk…</source>
        <translation>将此处的文件写到磁盘…</translation>
    </message>
    <message>
        <source>Put the file back to how it was before…</source>
        <translation>将文件恢复为之前的样子…</translation>
    </message>
    <message>
        <source>This file is huge; only its first part is shown. Show all of it</source>
        <translation>文件很大，只显示了开头部分。显示全部</translation>
    </message>
    <message>
        <source>Mode {old} → {new}</source>
        <translation>权限 {old} → {new}</translation>
    </message>
    <message>
        <source>A submodule or nested repository. Its commit changed; its files are not listed here.</source>
        <translation>子模块或嵌套仓库。其提交已改变，文件不在此列出。</translation>
    </message>
    <message>
        <source>Binary file</source>
        <translation>二进制文件</translation>
    </message>
    <message>
        <source>Only the type or mode changed: {old} → {new}</source>
        <translation>仅类型或权限改变：{old} → {new}</translation>
    </message>
    <message>
        <source>Renamed without other changes.</source>
        <translation>仅重命名，无其他更改。</translation>
    </message>
    <message>
        <source>No changed lines (whitespace only, or an empty file).</source>
        <translation>没有更改的行（仅空白或空文件）。</translation>
    </message>
</context>
<context>
    <name>FileList</name>
    <message>
        <source>yours</source>
        <translation>你的</translation>
    </message>
    <message>
        <source>binary</source>
        <translation>二进制</translation>
    </message>
    <message>
        <source>● runs later</source>
        <translation>● 稍后会运行</translation>
    </message>
    <message>
        <source>Changed by you, or by a command that ran in the background</source>
        <translation>由你或由后台运行的命令更改</translation>
    </message>
    <message>
        <source>Changed files</source>
        <translation>更改的文件</translation>
    </message>
    <message>
        <source>added</source>
        <translation>新增</translation>
    </message>
    <message>
        <source>yours?</source>
        <translation>你的？</translation>
    </message>
    <message>
        <source>modified</source>
        <translation>修改</translation>
    </message>
    <message>
        <source>deleted</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>renamed from {}</source>
        <translation>由 {} 重命名</translation>
    </message>
    <message>
        <source>type or mode changed</source>
        <translation>类型或权限改变</translation>
    </message>
    <message>
        <source>submodule or nested repository</source>
        <translation>子模块或嵌套仓库</translation>
    </message>
    <message>
        <source>Runs later, when you do something: a hook, a script, a test configuration.</source>
        <translation>在你之后操作时会运行：钩子、脚本或测试配置。</translation>
    </message>
    <message>
        <source>Changed by you</source>
        <translation>由你更改</translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message>
        <source>Search this file</source>
        <translation>在此文件中搜索</translation>
    </message>
    <message>
        <source>Previous match</source>
        <translation>上一个匹配</translation>
    </message>
    <message>
        <source>Next match</source>
        <translation>下一个匹配</translation>
    </message>
    <message>
        <source>Close the search (Esc)</source>
        <translation>关闭搜索（Esc）</translation>
    </message>
    <message>
        <source>no match</source>
        <translation>无匹配</translation>
    </message>
</context>
<context>
    <name>FirstStartDialog</name>
    <message>
        <source>Welcome to Worldline</source>
        <translation>欢迎使用 Worldline</translation>
    </message>
    <message>
        <source>You work with a coding agent and see the session as a tree. Click any step to go back there, with your files as they were. How should the agent think?</source>
        <translation>你与编程智能体一起工作，并以树的形式看到会话。点击任一步骤即可回到那里，文件也恢复原样。智能体该用什么来思考？</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>密钥</translation>
    </message>
    <message>
        <source>Address of the local server</source>
        <translation>本地服务器地址</translation>
    </message>
    <message>
        <source>Try the demo first</source>
        <translation>先看演示</translation>
    </message>
    <message>
        <source>A scripted model and a small project. No key, no network, nothing of yours is touched.</source>
        <translation>脚本化的模型和一个小项目。无需密钥和网络，不会动你的任何东西。</translation>
    </message>
    <message>
        <source>With a key of Anthropic</source>
        <translation>使用 Anthropic 密钥</translation>
    </message>
    <message>
        <source>Kept in the keyring of your system. It is read by the engine alone.</source>
        <translation>保存在系统密钥环中，只有引擎会读取。</translation>
    </message>
    <message>
        <source>With a local server</source>
        <translation>使用本地服务器</translation>
    </message>
    <message>
        <source>Any server that speaks the Messages API.</source>
        <translation>任何支持 Messages API 的服务器。</translation>
    </message>
    <message>
        <source>Test the connection</source>
        <translation>测试连接</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
    <message>
        <source>Theme: as the system</source>
        <translation>主题：跟随系统</translation>
    </message>
    <message>
        <source>light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>high contrast</source>
        <translation>高对比度</translation>
    </message>
    <message>
        <source>Later</source>
        <translation>稍后</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>开始</translation>
    </message>
    <message>
        <source>Testing…</source>
        <translation>正在测试…</translation>
    </message>
    <message>
        <source>Enter a key, or choose the demo.</source>
        <translation>请输入密钥，或选择演示。</translation>
    </message>
    <message>
        <source>Enter the address of the server, for example http://127.0.0.1:8080.</source>
        <translation>请输入服务器地址，例如 http://127.0.0.1:8080。</translation>
    </message>
</context>
<context>
    <name>FoldersDialog</name>
    <message>
        <source>Folders of sessions</source>
        <translation>会话的文件夹</translation>
    </message>
    <message>
        <source>A session on a git repository works in a folder of its own, in Worldline&apos;s data folder. Folders of deleted sessions, and the saved files of their steps, stay until you remove them.</source>
        <translation>git 仓库上的会话在 Worldline 数据文件夹内各自的文件夹中工作。已删除会话的文件夹及其步骤保存的文件会一直保留，直到你移除它们。</translation>
    </message>
    <message>
        <source>Looking…</source>
        <translation>正在查看…</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>移除…</translation>
    </message>
    <message>
        <source>What would be lost</source>
        <translation>将会丢失的内容</translation>
    </message>
    <message>
        <source>Show the folder</source>
        <translation>显示文件夹</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Session</source>
        <translation>会话</translation>
    </message>
    <message>
        <source>Repository, branch</source>
        <translation>仓库、分支</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Would be lost</source>
        <translation>将会丢失</translation>
    </message>
    <message>
        <source>There is none now.</source>
        <translation>现在没有。</translation>
    </message>
    <message numerus="yes">
        <source>%n folder(s) take {size}.</source>
        <translation>
            <numerusform>%n 个文件夹占用 {size}。</numerusform>
        </translation>
    </message>
    <message>
        <source>The folder is removed. About {size} are free again.</source>
        <translation>文件夹已移除，约 {size} 已腾出。</translation>
    </message>
    <message>
        <source>{title}  (in the trash)</source>
        <translation>{title}（在回收文件夹中）</translation>
    </message>
    <message>
        <source>Kept ready for the next session</source>
        <translation>为下一个会话预备</translation>
    </message>
    <message>
        <source>No session file any more</source>
        <translation>已没有会话文件</translation>
    </message>
    <message>
        <source>Files of its steps</source>
        <translation>其步骤的文件</translation>
    </message>
    <message>
        <source>over {size}</source>
        <translation>超过 {size}</translation>
    </message>
    <message>
        <source>in use</source>
        <translation>使用中</translation>
    </message>
    <message>
        <source>not known</source>
        <translation>未知</translation>
    </message>
    <message numerus="yes">
        <source>%n thing(s)</source>
        <translation>
            <numerusform>%n 项</numerusform>
        </translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>无</translation>
    </message>
    <message>
        <source>Removing…</source>
        <translation>正在移除…</translation>
    </message>
    <message>
        <source>Looking what would be lost…</source>
        <translation>正在查看将会丢失的内容…</translation>
    </message>
    <message>
        <source>Remove the files of the steps of “{}”?</source>
        <translation>要移除“{}”各步骤的文件吗？</translation>
    </message>
    <message>
        <source>Remove the folder of “{}”?</source>
        <translation>移除“{}”的文件夹？</translation>
    </message>
    <message>
        <source>This cannot be undone.</source>
        <translation>此操作无法撤销。</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
</context>
<context>
    <name>GrantsPage</name>
    <message>
        <source>Nothing was allowed for longer than once here.</source>
        <translation>这里没有任何超出“仅此一次”的许可。</translation>
    </message>
    <message>
        <source>What you allow for “this branch” or “this session” stands here as long as it holds. What is removed is asked about again from the next call on; a command that runs already keeps what was open to it. What you allow “always here” is a rule.</source>
        <translation>你为“本分支”或“本会话”允许的内容在有效期间列在这里。移除后，从下一次调用起会再次询问；已在运行的命令保留已对其开放的内容。“在此始终允许”的内容是规则。</translation>
    </message>
    <message>
        <source>this branch</source>
        <translation>本分支</translation>
    </message>
    <message>
        <source>this session</source>
        <translation>本会话</translation>
    </message>
    <message>
        <source>For {scope}: {reach}. Given {when}.</source>
        <translation>用于{scope}：{reach}。授予时间：{when}。</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Remove: {}</source>
        <translation>移除：{}</translation>
    </message>
</context>
<context>
    <name>HoverCard</name>
    <message numerus="yes">
        <source>%n file(s) changed, +{a} −{r}</source>
        <translation>
            <numerusform>%n 个文件有改动，+{a} −{r}</numerusform>
        </translation>
    </message>
    <message>
        <source>You are here.</source>
        <translation>你在这里。</translation>
    </message>
    <message>
        <source>Click: go back to before this prompt and change it.</source>
        <translation>点击：回到此提示之前并修改它。</translation>
    </message>
    <message>
        <source>Click: put the files back as they were here and go on from here.</source>
        <translation>点击：将文件恢复为此处的样子并从这里继续。</translation>
    </message>
</context>
<context>
    <name>ImageDiff</name>
    <message>
        <source>Edge between before and after</source>
        <translation>前后分界</translation>
    </message>
    <message>
        <source>before</source>
        <translation>之前</translation>
    </message>
    <message>
        <source>after</source>
        <translation>之后</translation>
    </message>
    <message>
        <source>Picture, {}</source>
        <translation>图片，{}</translation>
    </message>
</context>
<context>
    <name>ImportDialog</name>
    <message>
        <source>Import</source>
        <translation>导入</translation>
    </message>
    <message>
        <source>Importing</source>
        <translation>正在导入</translation>
    </message>
    <message>
        <source>The file itself is only read. What is made is a session of its own, without files to go back to.</source>
        <translation>原文件只会被读取。导入后得到一个独立的会话，其中没有可退回的文件状态。</translation>
    </message>
    <message>
        <source>Open the session</source>
        <translation>打开会话</translation>
    </message>
    <message>
        <source>Importing {names}</source>
        <translation>正在导入 {names}</translation>
    </message>
    <message>
        <source>{s} s so far.</source>
        <translation>已用时 {s} 秒。</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Nothing was imported</source>
        <translation>没有导入任何内容</translation>
    </message>
    <message>
        <source>Imported</source>
        <translation>已导入</translation>
    </message>
    <message numerus="yes">
        <source>%n node(s)</source>
        <translation>
            <numerusform>%n 个节点</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n branch(es)</source>
        <translation>
            <numerusform>%n 个分支</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n place(s) were damaged; the first: line {line}, {why}</source>
        <translation>
            <numerusform>%n 处已损坏；第一处：第 {line} 行，{why}</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>JumpPlanDialog</name>
    <message>
        <source>Go to “{}”</source>
        <translation>前往“{}”</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>文件</translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) will be put back</source>
        <translation>
            <numerusform>将恢复 %n 个文件</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) stay: not made by the agent</source>
        <translation>
            <numerusform>%n 个文件保持不变：并非智能体所作</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) were never captured</source>
        <translation>
            <numerusform>%n 个文件从未保存</numerusform>
        </translation>
    </message>
    <message>
        <source>Cannot be undone</source>
        <translation>无法撤销</translation>
    </message>
    <message>
        <source>Unknown there</source>
        <translation>那里不知道的事</translation>
    </message>
    <message>
        <source>The model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>What you have now is saved as a node first. Back: Alt+←</source>
        <translation>你现在的内容会先保存为节点。返回：Alt+←</translation>
    </message>
    <message>
        <source>Go and fork</source>
        <translation>前往并分叉</translation>
    </message>
    <message>
        <source> and {} more</source>
        <translation> 以及另外 {} 个</translation>
    </message>
    <message>
        <source>show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>Show the files: {}</source>
        <translation>显示文件：{}</translation>
    </message>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>……另有 %n 项</numerusform>
        </translation>
    </message>
    <message>
        <source>keep as it is</source>
        <translation>保持现状</translation>
    </message>
    <message numerus="yes">
        <source>%n more file(s) stay: changed by you or in the background</source>
        <translation>
            <numerusform>另外 %n 个文件保持不变：由你或在后台更改</numerusform>
        </translation>
    </message>
    <message>
        <source>Will be put back (what is there is saved first)</source>
        <translation>将恢复（先保存现有内容）</translation>
    </message>
    <message>
        <source>Stays: changed by you, or by a command in the background</source>
        <translation>保留：由你或由后台命令更改</translation>
    </message>
    <message>
        <source>Stays: you changed it</source>
        <translation>保留：你改过它</translation>
    </message>
    <message>
        <source>keep mine</source>
        <translation>保留我的</translation>
    </message>
    <message>
        <source>put back</source>
        <translation>恢复</translation>
    </message>
    <message>
        <source>What happens to {}</source>
        <translation>如何处理 {}</translation>
    </message>
    <message numerus="yes">
        <source>%n more file(s) of yours stay</source>
        <translation>
            <numerusform>你的另外 %n 个文件保持不变</numerusform>
        </translation>
    </message>
    <message>
        <source>Will be put back (yours is saved first)</source>
        <translation>将恢复（先保存你的版本）</translation>
    </message>
    <message>
        <source>Still running</source>
        <translation>仍在运行</translation>
    </message>
    <message>
        <source>{command} (since {time})</source>
        <translation>{command}（自 {time} 起）</translation>
    </message>
    <message>
        <source>stop them</source>
        <translation>停止它们</translation>
    </message>
    <message>
        <source>let them run</source>
        <translation>让它们继续运行</translation>
    </message>
    <message>
        <source>What happens to running processes</source>
        <translation>如何处理正在运行的进程</translation>
    </message>
</context>
<context>
    <name>KeyPage</name>
    <message>
        <source>Now</source>
        <translation>现在</translation>
    </message>
    <message>
        <source>New key</source>
        <translation>新密钥</translation>
    </message>
    <message>
        <source>Kept in the keyring of your system, never in a file or a session.</source>
        <translation>保存在系统密钥环中，绝不写入文件或会话。</translation>
    </message>
    <message>
        <source>Save key</source>
        <translation>保存密钥</translation>
    </message>
    <message>
        <source>Remove key</source>
        <translation>移除密钥</translation>
    </message>
    <message>
        <source>Test the connection</source>
        <translation>测试连接</translation>
    </message>
    <message>
        <source>A key is in the keyring.</source>
        <translation>密钥环中已有密钥。</translation>
    </message>
    <message>
        <source>The key comes from ANTHROPIC_API_KEY.</source>
        <translation>密钥来自 ANTHROPIC_API_KEY。</translation>
    </message>
    <message>
        <source>There is no key yet.</source>
        <translation>还没有密钥。</translation>
    </message>
    <message>
        <source>This service needs no key.</source>
        <translation>此服务不需要密钥。</translation>
    </message>
</context>
<context>
    <name>LimitsPage</name>
    <message>
        <source>Turns</source>
        <translation>轮次</translation>
    </message>
    <message>
        <source>Tool calls</source>
        <translation>工具调用</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>no limit</source>
        <translation>不限</translation>
    </message>
    <message>
        <source>Tokens of a run</source>
        <translation>单次运行的 token</translation>
    </message>
    <message>
        <source>Cost of a run</source>
        <translation>单次运行的费用</translation>
    </message>
    <message>
        <source>Tokens of the session</source>
        <translation>整个会话的 token</translation>
    </message>
    <message>
        <source>Cost of the session</source>
        <translation>整个会话的费用</translation>
    </message>
    <message>
        <source>A run that meets a limit stops in order, and offers to go on.</source>
        <translation>运行达到限制时会有序停止，并可选择继续。</translation>
    </message>
</context>
<context>
    <name>LossWords</name>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>……另有 %n 项</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n thing(s) would be nowhere any more.</source>
        <translation>
            <numerusform>将有 %n 项不复存在于任何地方。</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing would be lost.</source>
        <translation>不会丢失任何内容。</translation>
    </message>
</context>
<context>
    <name>LossyDialog</name>
    <message>
        <source>The model will know less here</source>
        <translation>在这里模型知道得更少</translation>
    </message>
    <message>
        <source>The messages themselves stay in the session. Fork before the compaction to give the model the whole history again.</source>
        <translation>消息本身仍在会话中。在压缩之前分叉，可让模型重新得到完整历史。</translation>
    </message>
    <message>
        <source>Go on with the summary</source>
        <translation>使用摘要继续</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Opening…</source>
        <translation>正在打开…</translation>
    </message>
    <message>
        <source>Session</source>
        <translation>会话</translation>
    </message>
    <message>
        <source>isolated worktree</source>
        <translation>独立工作树</translation>
    </message>
    <message>
        <source>in your folder</source>
        <translation>在你的文件夹中</translation>
    </message>
    <message>
        <source>imported, without files</source>
        <translation>已导入，无文件</translation>
    </message>
    <message>
        <source>You opened {root}
The agent works in {work}</source>
        <translation>你打开的是 {root}
智能体在 {work} 中工作</translation>
    </message>
    <message>
        <source>Let go to open</source>
        <translation>松开即可打开</translation>
    </message>
</context>
<context>
    <name>MarkedCommand</name>
    <message>
        <source>Command: {}</source>
        <translation>命令：{}</translation>
    </message>
</context>
<context>
    <name>MessageChoices</name>
    <message>
        <source>Mode</source>
        <translation>模式</translation>
    </message>
    <message>
        <source>plan</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>Reads only. Nothing is changed.</source>
        <translation>只读，不做任何更改。</translation>
    </message>
    <message>
        <source>ask</source>
        <translation>询问</translation>
    </message>
    <message>
        <source>Commands are asked for. Changes of files in the workspace are not: going back undoes them.</source>
        <translation>命令需要询问。工作区内的文件更改不询问：返回即可撤销。</translation>
    </message>
    <message>
        <source>work</source>
        <translation>工作</translation>
    </message>
    <message>
        <source>What the sandbox confines runs without asking; the rest is asked for.</source>
        <translation>沙盒内的操作直接运行，其余的先询问。</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Effort</source>
        <translation>思考强度</translation>
    </message>
</context>
<context>
    <name>MessageMenu</name>
    <message>
        <source>Copy message</source>
        <translation>复制消息</translation>
    </message>
    <message>
        <source>Show in the tree</source>
        <translation>在树中显示</translation>
    </message>
    <message>
        <source>Go here and fork</source>
        <translation>前往这里并分叉</translation>
    </message>
    <message>
        <source>Open {address}</source>
        <translation>打开 {address}</translation>
    </message>
    <message>
        <source>As the model sees it</source>
        <translation>模型所见</translation>
    </message>
    <message>
        <source>Leave this out for the model</source>
        <translation>不让模型看到这一项</translation>
    </message>
    <message>
        <source>Tell the model something else instead…</source>
        <translation>改为告诉模型别的内容…</translation>
    </message>
    <message>
        <source>What the model is told instead</source>
        <translation>改为告诉模型的内容</translation>
    </message>
    <message>
        <source>On this branch, from here on. The original stays in the session.</source>
        <translation>仅在此分支、从这里起生效。原文保留在会话中。</translation>
    </message>
</context>
<context>
    <name>Minimap</name>
    <message>
        <source>Overview of the tree</source>
        <translation>树的概览</translation>
    </message>
    <message>
        <source>Overview: click to go to a part of the tree</source>
        <translation>概览：点击可前往树的某处</translation>
    </message>
</context>
<context>
    <name>ModelPage</name>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Asked first, in every new run.</source>
        <translation>每次新运行首先使用。</translation>
    </message>
    <message>
        <source>If it cannot answer</source>
        <translation>无法作答时</translation>
    </message>
    <message>
        <source>Effort</source>
        <translation>投入程度</translation>
    </message>
    <message>
        <source>as the model does</source>
        <translation>由模型决定</translation>
    </message>
    <message>
        <source>low</source>
        <translation>低</translation>
    </message>
    <message>
        <source>medium</source>
        <translation>中</translation>
    </message>
    <message>
        <source>high</source>
        <translation>高</translation>
    </message>
    <message>
        <source>More effort thinks longer and costs more.</source>
        <translation>投入越多，思考越久，费用越高。</translation>
    </message>
    <message>
        <source>plan: reads only</source>
        <translation>计划：只读</translation>
    </message>
    <message>
        <source>ask before everything</source>
        <translation>一切先询问</translation>
    </message>
    <message>
        <source>work: unasked inside the sandbox</source>
        <translation>工作：沙盒内无需询问</translation>
    </message>
    <message>
        <source>Keep a copy of large repositories ready</source>
        <translation>为大型仓库预备一份副本</translation>
    </message>
    <message>
        <source>New sessions</source>
        <translation>新会话</translation>
    </message>
    <message>
        <source>So they begin sooner. Made when nothing else goes on; takes 2 GB at most. Listed with the folders of sessions, under Storage.</source>
        <translation>新会话因此可以更快开始。在空闲时制作，最多占用 2 GB；在“存储空间”的“会话的文件夹”中列出。</translation>
    </message>
    <message>
        <source>Empty = the address in ANTHROPIC_BASE_URL. A local server that speaks the Messages API works as well.</source>
        <translation>留空即使用 ANTHROPIC_BASE_URL 中的地址。支持 Messages API 的本地服务器也可以。</translation>
    </message>
    <message>
        <source>The local server knows the whole API</source>
        <translation>本地服务器支持完整的 API</translation>
    </message>
    <message>
        <source>Local server</source>
        <translation>本地服务器</translation>
    </message>
    <message>
        <source>Off: extras that small servers refuse are left out.</source>
        <translation>关闭时，会省去小型服务器拒绝的附加功能。</translation>
    </message>
    <message>
        <source>Mode of new sessions</source>
        <translation>新会话的模式</translation>
    </message>
    <message>
        <source>Tried in this order when a model is overloaded or refused. Drag or Alt+↑ Alt+↓ change the order.</source>
        <translation>模型过载或被拒绝时按此顺序尝试。拖动或按 Alt+↑ Alt+↓ 可调整顺序。</translation>
    </message>
    <message>
        <source>Compact the context before it is full</source>
        <translation>在上下文满之前压缩</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>Address of the service</source>
        <translation>服务地址</translation>
    </message>
    <message>
        <source>Empty = Anthropic. A local server that speaks the Messages API works as well.</source>
        <translation>留空即 Anthropic。支持 Messages API 的本地服务器也可以。</translation>
    </message>
</context>
<context>
    <name>ModelViewDialog</name>
    <message>
        <source>As the model sees it</source>
        <translation>模型视角</translation>
    </message>
    <message numerus="yes">
        <source>%n message(s)</source>
        <translation>
            <numerusform>%n 条消息</numerusform>
        </translation>
    </message>
    <message>
        <source>≈ {} tokens</source>
        <translation>≈ {} 词元</translation>
    </message>
    <message>
        <source>Parts of the request</source>
        <translation>请求的各部分</translation>
    </message>
    <message>
        <source>This part as JSON</source>
        <translation>此部分的 JSON</translation>
    </message>
    <message>
        <source>Copy the whole request</source>
        <translation>复制完整请求</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>parameters</source>
        <translation>参数</translation>
    </message>
    <message>
        <source>system prompt</source>
        <translation>系统提示</translation>
    </message>
    <message numerus="yes">
        <source>%n tool(s)</source>
        <translation>
            <numerusform>%n 个工具</numerusform>
        </translation>
    </message>
    <message>
        <source>you</source>
        <translation>你</translation>
    </message>
    <message>
        <source>model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>result</source>
        <translation>结果</translation>
    </message>
    <message>
        <source>Made for the request; not in the history</source>
        <translation>为请求而生成，不在历史中</translation>
    </message>
    <message>
        <source>Repaired for the request</source>
        <translation>为请求而修复</translation>
    </message>
</context>
<context>
    <name>NewSessionDialog</name>
    <message>
        <source>New session</source>
        <translation>新会话</translation>
    </message>
    <message>
        <source>Folder or repository (or drop one here)</source>
        <translation>文件夹或仓库（也可拖到这里）</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>Title (the first prompt, if empty)</source>
        <translation>标题（留空则用第一条提示）</translation>
    </message>
    <message>
        <source>Title</source>
        <translation>标题</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>开始</translation>
    </message>
    <message>
        <source>In a worktree of its own (recommended)</source>
        <translation>在独立工作树中（推荐）</translation>
    </message>
    <message>
        <source>In my folder</source>
        <translation>在我的文件夹中</translation>
    </message>
    <message>
        <source>Your checkout is not touched while you explore the tree. Your uncommitted work is carried over. What is good you bring to your branch by a named action.</source>
        <translation>浏览树时不会触碰你的检出。未提交的工作会一并带入。满意的成果由你通过明确的操作带到自己的分支。</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>This folder is not in a git repository: the agent works in place. Every step is saved all the same.</source>
        <translation>此文件夹不在 git 仓库中：智能体就地工作。每一步同样会保存。</translation>
    </message>
    <message>
        <source>Let go to work in this folder</source>
        <translation>松开即可在此文件夹中工作</translation>
    </message>
    <message>
        <source>This is your home folder. Choose a project in it.</source>
        <translation>这是你的主文件夹。请选择其中的一个项目。</translation>
    </message>
    <message>
        <source>The agent works where you work, on a git branch of its own; yours never moves, and “Return to …” brings you back to it. Going to a node puts files back in this folder; what you changed yourself stays.</source>
        <translation>智能体在你工作的地方工作，但使用它自己的 git 分支；你的分支不会移动，“返回 …”会把你带回去。前往某个节点会在此文件夹中恢复文件；你自己的改动会保留。</translation>
    </message>
    <message>
        <source>There is no such folder.</source>
        <translation>没有这个文件夹。</translation>
    </message>
    <message>
        <source>Carried over: uncommitted and untracked files, the index, submodules. Left: ignored files (.env files are carried).</source>
        <translation>带入：未提交和未跟踪的文件、索引、子模块。不带：被忽略的文件（.env 会带入）。</translation>
    </message>
</context>
<context>
    <name>NoteDialog</name>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
</context>
<context>
    <name>Notice</name>
    <message>
        <source>Close this line</source>
        <translation>关闭此行</translation>
    </message>
</context>
<context>
    <name>Opening</name>
    <message>
        <source>{name} is not on disk now.</source>
        <translation>{name} 现在不在磁盘上。</translation>
    </message>
    <message>
        <source>{name} might be started instead of shown, and the agent wrote it: here is its folder.</source>
        <translation>打开 {name} 可能会运行它，而它由智能体写成：已为你打开其所在文件夹。</translation>
    </message>
    <message>
        <source>No program of this computer opens {path}.</source>
        <translation>此电脑上没有程序能打开 {path}。</translation>
    </message>
</context>
<context>
    <name>Palette</name>
    <message>
        <source>All commands</source>
        <translation>所有命令</translation>
    </message>
    <message>
        <source>Type a command</source>
        <translation>输入命令</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Commands</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>No command is called that.</source>
        <translation>没有这个名称的命令。</translation>
    </message>
</context>
<context>
    <name>PaneHead</name>
    <message>
        <source>only looking</source>
        <translation>仅查看</translation>
    </message>
    <message>
        <source>The files are still as they were where you are.</source>
        <translation>文件仍是你所在位置的样子。</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>返回</translation>
    </message>
    <message>
        <source>Back to where you are (Esc)</source>
        <translation>回到你所在的位置 (Esc)</translation>
    </message>
    <message>
        <source>Back to where you are</source>
        <translation>回到你所在处</translation>
    </message>
    <message>
        <source>Go here</source>
        <translation>前往这里</translation>
    </message>
    <message>
        <source>As the model sees it</source>
        <translation>模型视角</translation>
    </message>
</context>
<context>
    <name>Places</name>
    <message>
        <source>Chat</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Changes</source>
        <translation>更改</translation>
    </message>
</context>
<context>
    <name>QuestionDialog</name>
    <message>
        <source>The agent asks</source>
        <translation>智能体提问</translation>
    </message>
    <message>
        <source>The run waits for your answer. Close this to answer later, in the chat.</source>
        <translation>运行在等待你的回答。关闭后可稍后在对话中回答。</translation>
    </message>
    <message>
        <source>Later</source>
        <translation>稍后</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>回答</translation>
    </message>
</context>
<context>
    <name>QuestionForm</name>
    <message>
        <source>Or in your own words…</source>
        <translation>或用你自己的话…</translation>
    </message>
    <message>
        <source>Your own words</source>
        <translation>你自己的话</translation>
    </message>
    <message>
        <source>Choose one, or write your own words.</source>
        <translation>请选择一项，或写下你自己的话。</translation>
    </message>
</context>
<context>
    <name>QuestionRow</name>
    <message>
        <source>The agent asks</source>
        <translation>智能体提问</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>The agent asks: {}</source>
        <translation>智能体提问：{}</translation>
    </message>
</context>
<context>
    <name>Recovering</name>
    <message>
        <source>Save what is readable…</source>
        <translation>保存可读取的内容…</translation>
    </message>
    <message>
        <source>Saving what is readable into a new session. The damaged file is only read.</source>
        <translation>正在将可读取的内容保存为新会话。损坏的文件只会被读取。</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message numerus="yes">
        <source>%n step(s) are saved in {path}.</source>
        <translation>
            <numerusform>已将 %n 个步骤保存到 {path}。</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing is lost.</source>
        <translation>没有丢失任何内容。</translation>
    </message>
    <message numerus="yes">
        <source>… and %n more</source>
        <translation>
            <numerusform>……另有 %n 项</numerusform>
        </translation>
    </message>
    <message>
        <source>Open it in place of this one</source>
        <translation>打开并替换此会话</translation>
    </message>
    <message>
        <source>All that is lost</source>
        <translation>所有丢失的内容</translation>
    </message>
</context>
<context>
    <name>RecoveryDialog</name>
    <message>
        <source>The last run was interrupted</source>
        <translation>上次运行被中断</translation>
    </message>
    <message>
        <source>The engine stopped in the middle of its work. Nothing that was saved is lost.</source>
        <translation>引擎在工作中途停止。已保存的内容不会丢失。</translation>
    </message>
    <message>
        <source>Interrupted</source>
        <translation>已中断</translation>
    </message>
    <message>
        <source>It is safe to go on: of a step that was interrupted, the model is told that it has no result. One that was running may have done a part of its work: look at Changes before you go on.</source>
        <translation>可以放心继续：被中断的步骤，模型会得知它没有结果。正在运行的步骤可能已做了一部分工作：继续之前请先查看“更改”。</translation>
    </message>
    <message>
        <source>Show diagnostics</source>
        <translation>显示诊断</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>Repeated</name>
    <message>
        <source>The same call was made {} times, with the same result.</source>
        <translation>同一调用已执行 {} 次，结果相同。</translation>
    </message>
    <message>
        <source>This failed {} times in the same way.</source>
        <translation>已以同样方式失败 {} 次。</translation>
    </message>
    <message>
        <source>{} calls in a row were refused for the same reason.</source>
        <translation>连续 {} 次调用因同一原因被拒。</translation>
    </message>
    <message>
        <source>The same calls came {} times in the same order.</source>
        <translation>同样的调用以同样顺序出现了 {} 次。</translation>
    </message>
    <message>
        <source>Edits of this file failed {} times with nearly the same text.</source>
        <translation>对此文件的修改已以几乎相同的文本失败 {} 次。</translation>
    </message>
    <message>
        <source>The agent goes round in circles.</source>
        <translation>智能体在原地打转。</translation>
    </message>
    <message>
        <source>Worldline told the agent to try another way.</source>
        <translation>Worldline 已要求智能体换一种做法。</translation>
    </message>
</context>
<context>
    <name>ReplyRow</name>
    <message>
        <source>Agent</source>
        <translation>智能体</translation>
    </message>
    <message>
        <source>Copy reply</source>
        <translation>复制回复</translation>
    </message>
    <message>
        <source>Show in the tree</source>
        <translation>在树中显示</translation>
    </message>
    <message>
        <source>Go here and fork</source>
        <translation>前往这里并分叉</translation>
    </message>
    <message>
        <source>This reply was cut off. What arrived was kept.</source>
        <translation>此回复被截断，已到达的部分保留。</translation>
    </message>
    <message>
        <source>Agent said: {}</source>
        <translation>智能体说：{}</translation>
    </message>
    <message>
        <source>◔ writes a call of {} · {} characters</source>
        <translation>◔ 正在写 {} 的调用 · {} 个字符</translation>
    </message>
</context>
<context>
    <name>RetryPage</name>
    <message>
        <source>Tries of the first model</source>
        <translation>首选模型的尝试次数</translation>
    </message>
    <message>
        <source>With growing pauses. What the service asks for is respected.</source>
        <translation>间隔逐次加长，并遵从服务的要求。</translation>
    </message>
    <message>
        <source>Tries of each other model</source>
        <translation>每个后备模型的尝试次数</translation>
    </message>
    <message>
        <source>Longest pause</source>
        <translation>最长间隔</translation>
    </message>
    <message>
        <source>Longest pause that the service may ask for</source>
        <translation>服务可要求的最长间隔</translation>
    </message>
    <message>
        <source>Above this another model is asked, or the run ends and says why.</source>
        <translation>超过时改问其他模型，或结束运行并说明原因。</translation>
    </message>
    <message>
        <source>Time to connect</source>
        <translation>连接时限</translation>
    </message>
    <message>
        <source>Time to the first answer</source>
        <translation>首次应答时限</translation>
    </message>
    <message>
        <source>Silence in a reply</source>
        <translation>回复中的静默时限</translation>
    </message>
    <message>
        <source>After this a reply that has stopped is asked for again.</source>
        <translation>超过时，会重新请求已停住的回复。</translation>
    </message>
</context>
<context>
    <name>ReturnHomeDialog</name>
    <message>
        <source>Return to {branch}</source>
        <translation>返回 {branch}</translation>
    </message>
    <message>
        <source>The agent works in your folder on {own}, so that {home} never moves. Here HEAD goes back to it; the branch of the session stays with all that was committed on it.</source>
        <translation>智能体在你的文件夹中使用 {own} 工作，因此 {home} 不会移动。在这里 HEAD 回到该分支；会话的分支及其上的所有提交都会保留。</translation>
    </message>
    <message>
        <source>with the files as they are now</source>
        <translation>保持文件现在的样子</translation>
    </message>
    <message>
        <source>No file is touched and what is staged stays staged. What was committed on the branch of the session is staged as well, for you to commit or not.</source>
        <translation>不会触碰任何文件，已暂存的内容保持暂存。在会话分支上提交的内容也会被暂存，由你决定是否提交。</translation>
    </message>
    <message>
        <source>with the files as they were when {home} was left</source>
        <translation>恢复到离开 {home} 时的文件</translation>
    </message>
    <message>
        <source>What the agent did stays in the tree, what you changed yourself stays in the folder. Where both meet you see a plan first.</source>
        <translation>智能体所做的保留在树中，你自己的改动保留在文件夹中。两者相遇之处会先显示计划。</translation>
    </message>
    <message>
        <source>Return</source>
        <translation>返回</translation>
    </message>
</context>
<context>
    <name>RulesPage</name>
    <message>
        <source>Never</source>
        <translation>从不</translation>
    </message>
    <message>
        <source>Always ask</source>
        <translation>始终询问</translation>
    </message>
    <message>
        <source>Without asking</source>
        <translation>无需询问</translation>
    </message>
    <message>
        <source>Without asking, in this folder alone</source>
        <translation>不询问（仅此文件夹）</translation>
    </message>
    <message>
        <source>What you allowed with “always here”</source>
        <translation>你以“在此始终允许”允许的内容</translation>
    </message>
    <message>
        <source>Try a command</source>
        <translation>试一条命令</translation>
    </message>
    <message>
        <source>Every part of a command line is looked at on its own: one “never” denies all of it. No rule widens the sandbox; it only removes a question. Also: Net(host:443), Write(path), Socket(path).</source>
        <translation>命令行的每个部分单独判断：只要有一个“从不”就全部拒绝。规则不会放宽沙盒，只是省去询问。另有：Net(host:443)、Write(path)、Socket(path)。</translation>
    </message>
    <message>
        <source>Save rules</source>
        <translation>保存规则</translation>
    </message>
    <message>
        <source>runs without asking</source>
        <translation>直接运行</translation>
    </message>
    <message>
        <source>is asked for</source>
        <translation>会询问</translation>
    </message>
    <message>
        <source>is denied</source>
        <translation>被拒绝</translation>
    </message>
    <message>
        <source>{decision}: {why}</source>
        <translation>{decision}：{why}</translation>
    </message>
    <message>
        <source>From the project itself: {}</source>
        <translation>来自项目本身：{}</translation>
    </message>
    <message>
        <source>For this folder alone, from the file of your settings: {}</source>
        <translation>仅限此文件夹，来自你的设置文件：{}</translation>
    </message>
</context>
<context>
    <name>SafetyPage</name>
    <message>
        <source>Sandbox</source>
        <translation>沙盒</translation>
    </message>
    <message>
        <source>on: commands reach the workspace only</source>
        <translation>开启：命令只能触及工作区</translation>
    </message>
    <message>
        <source>off: every command is asked for</source>
        <translation>关闭：每条命令都要询问</translation>
    </message>
    <message>
        <source>as the engine does</source>
        <translation>默认</translation>
    </message>
    <message>
        <source>Time to answer an approval</source>
        <translation>答复批准的时限</translation>
    </message>
    <message>
        <source>Without an answer the call is denied; nothing is ever allowed by waiting.</source>
        <translation>没有答复即拒绝；等待绝不会变成允许。</translation>
    </message>
    <message>
        <source>When the agent is stuck</source>
        <translation>智能体卡住时</translation>
    </message>
    <message>
        <source>ask me whether to go back</source>
        <translation>询问我是否退回</translation>
    </message>
    <message>
        <source>go back and try another way</source>
        <translation>退回并换一种做法</translation>
    </message>
    <message>
        <source>only stop</source>
        <translation>只停止</translation>
    </message>
    <message>
        <source>When I leave a branch</source>
        <translation>离开一个分支时</translation>
    </message>
    <message>
        <source>the new branch starts clean</source>
        <translation>新分支从零开始</translation>
    </message>
    <message>
        <source>ask me</source>
        <translation>询问我</translation>
    </message>
    <message>
        <source>always pass on a summary</source>
        <translation>总是附上摘要</translation>
    </message>
    <message>
        <source>A summary tells the model of the new branch what was tried. It costs one request.</source>
        <translation>摘要会告诉新分支的模型试过什么，需要一次请求。</translation>
    </message>
    <message>
        <source>Now: complete.</source>
        <translation>当前：完整。</translation>
    </message>
    <message>
        <source>Now: partial.</source>
        <translation>当前：部分。</translation>
    </message>
    <message>
        <source>Now: not confined.</source>
        <translation>当前：未受限制。</translation>
    </message>
</context>
<context>
    <name>SessionDeleteDialog</name>
    <message>
        <source>Move “{}” to the trash folder?</source>
        <translation>把“{}”移到回收文件夹？</translation>
    </message>
    <message numerus="yes">
        <source>%n node(s) with all that was said go with it.</source>
        <translation>
            <numerusform>其中的 %n 个节点和全部对话会一并移走。</numerusform>
        </translation>
    </message>
    <message>
        <source>Your folder {root} and its files stay as they are. The session can be had back from {trash}.</source>
        <translation>你的文件夹 {root} 及其中的文件保持不变。会话可从 {trash} 取回。</translation>
    </message>
    <message>
        <source>Remove the session&apos;s own folder as well</source>
        <translation>同时移除会话自己的文件夹</translation>
    </message>
    <message>
        <source>Looking what would be lost with the folder…</source>
        <translation>正在查看将随文件夹丢失的内容…</translation>
    </message>
    <message>
        <source>Move to the trash</source>
        <translation>移到回收文件夹</translation>
    </message>
    <message>
        <source>Move to the trash, remove the folder</source>
        <translation>移到回收文件夹，并移除文件夹</translation>
    </message>
</context>
<context>
    <name>SessionImport</name>
    <message>
        <source>Progress of the import</source>
        <translation>导入进度</translation>
    </message>
    <message>
        <source>Import…</source>
        <translation>导入…</translation>
    </message>
    <message>
        <source>Cancel the import</source>
        <translation>取消导入</translation>
    </message>
    <message>
        <source>Show the report</source>
        <translation>查看报告</translation>
    </message>
    <message>
        <source>Import sessions</source>
        <translation>导入会话</translation>
    </message>
    <message>
        <source>An import is still going on.</source>
        <translation>仍在导入。</translation>
    </message>
    <message numerus="yes">
        <source>Importing %n file(s)…</source>
        <translation>
            <numerusform>正在导入 %n 个文件…</numerusform>
        </translation>
    </message>
    <message>
        <source>Stopping the import…</source>
        <translation>正在停止导入…</translation>
    </message>
    <message>
        <source>{done} of {total} nodes</source>
        <translation>{total} 个节点中的 {done} 个</translation>
    </message>
    <message>
        <source>Importing {}</source>
        <translation>正在导入 {}</translation>
    </message>
    <message>
        <source>The import failed: {}</source>
        <translation>导入失败：{}</translation>
    </message>
    <message>
        <source>The import was cancelled. What was half imported is gone again.</source>
        <translation>导入已取消，导入到一半的内容已清除。</translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) imported.</source>
        <translation>
            <numerusform>已导入 %n 个文件。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n node(s) came of it.</source>
        <translation>
            <numerusform>得到 %n 个节点。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) could not be imported.</source>
        <translation>
            <numerusform>%n 个文件未能导入。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n place(s) could not be read.</source>
        <translation>
            <numerusform>有 %n 处无法读取。</numerusform>
        </translation>
    </message>
    <message>
        <source>Report of the import</source>
        <translation>导入报告</translation>
    </message>
</context>
<context>
    <name>Sessions</name>
    <message>
        <source>it is damaged, or no session at all</source>
        <translation>文件已损坏，或不是会话文件</translation>
    </message>
    <message>
        <source>it is open in another program; close it there first</source>
        <translation>它在另一个程序中打开着，请先在那里关闭</translation>
    </message>
</context>
<context>
    <name>SessionsDialog</name>
    <message>
        <source>Sessions</source>
        <translation>会话</translation>
    </message>
    <message>
        <source>Search titles, folders and everything that was said</source>
        <translation>搜索标题、文件夹和全部对话</translation>
    </message>
    <message>
        <source>Search titles and folders</source>
        <translation>搜索标题和文件夹</translation>
    </message>
    <message>
        <source>Search the sessions</source>
        <translation>搜索会话</translation>
    </message>
    <message>
        <source>Folders of sessions…</source>
        <translation>会话的文件夹…</translation>
    </message>
    <message>
        <source>Rename…</source>
        <translation>重命名…</translation>
    </message>
    <message>
        <source>Show in the folder</source>
        <translation>在文件夹中显示</translation>
    </message>
    <message>
        <source>Delete…</source>
        <translation>删除…</translation>
    </message>
    <message>
        <source>Storage…</source>
        <translation>存储空间…</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Drop session files of pi, Claude Code or Codex here to import them.</source>
        <translation>将 pi、Claude Code 或 Codex 的会话文件拖到这里即可导入。</translation>
    </message>
    <message>
        <source>No sessions yet. Open a folder to start one.</source>
        <translation>还没有会话。打开一个文件夹即可开始。</translation>
    </message>
    <message numerus="yes">
        <source>%n node(s)</source>
        <translation>
            <numerusform>%n 个节点</numerusform>
        </translation>
    </message>
    <message>
        <source>Cannot be read: {}</source>
        <translation>无法读取：{}</translation>
    </message>
    <message numerus="yes">
        <source>%n session(s) found.</source>
        <translation>
            <numerusform>找到 %n 个会话。</numerusform>
        </translation>
    </message>
    <message>
        <source>It is open in a window. Close it first.</source>
        <translation>它正在某个窗口中打开，请先关闭。</translation>
    </message>
    <message>
        <source>Rename the session</source>
        <translation>重命名会话</translation>
    </message>
    <message>
        <source>Title</source>
        <translation>标题</translation>
    </message>
    <message>
        <source>Renaming…</source>
        <translation>正在重命名…</translation>
    </message>
    <message>
        <source>Renamed.</source>
        <translation>已重命名。</translation>
    </message>
    <message>
        <source>Delete a session</source>
        <translation>删除会话</translation>
    </message>
    <message>
        <source>Move “{}” to the trash folder?</source>
        <translation>把“{}”移到回收文件夹？</translation>
    </message>
    <message numerus="yes">
        <source>%n node(s) with all that was said go with it.</source>
        <translation>
            <numerusform>其中的 %n 个节点和全部对话会一并移走。</numerusform>
        </translation>
    </message>
    <message>
        <source>Your folder {root} and its files stay as they are. The session can be had back from {trash}.</source>
        <translation>你的文件夹 {root} 及其中的文件保持不变。会话可从 {trash} 取回。</translation>
    </message>
    <message>
        <source>Move to the trash</source>
        <translation>移到回收文件夹</translation>
    </message>
    <message>
        <source>“{}” is in the trash, and its folder is removed.</source>
        <translation>“{}”已移到回收文件夹，其文件夹已移除。</translation>
    </message>
    <message>
        <source>“{}” is in the trash. Its folder stays:</source>
        <translation>“{}”已移到回收文件夹。其文件夹保留：</translation>
    </message>
    <message>
        <source>Removing the folder…</source>
        <translation>正在移除文件夹…</translation>
    </message>
    <message>
        <source>It could not be moved: {}</source>
        <translation>无法移动：{}</translation>
    </message>
    <message>
        <source>“{title}” is in {place} now.</source>
        <translation>“{title}”现在位于 {place}。</translation>
    </message>
    <message>
        <source>Let go to open or import</source>
        <translation>松开即可打开或导入</translation>
    </message>
</context>
<context>
    <name>Settings</name>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Key</source>
        <translation>密钥</translation>
    </message>
    <message>
        <source>Limits</source>
        <translation>限制</translation>
    </message>
    <message>
        <source>Retries</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Safety</source>
        <translation>安全</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>外观</translation>
    </message>
    <message>
        <source>Rules</source>
        <translation>规则</translation>
    </message>
    <message>
        <source>Permissions given</source>
        <translation>已授予的许可</translation>
    </message>
</context>
<context>
    <name>SettingsDialog</name>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Search the settings</source>
        <translation>搜索设置</translation>
    </message>
    <message>
        <source>Parts of the settings</source>
        <translation>设置的各部分</translation>
    </message>
    <message>
        <source>No setting has these words.</source>
        <translation>没有包含这些字词的设置。</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Save the rules?</source>
        <translation>保存规则？</translation>
    </message>
    <message>
        <source>Rules were changed and not saved.</source>
        <translation>规则已修改，尚未保存。</translation>
    </message>
    <message>
        <source>Do not save</source>
        <translation>不保存</translation>
    </message>
    <message>
        <source>Go on editing</source>
        <translation>继续编辑</translation>
    </message>
    <message>
        <source>Save rules</source>
        <translation>保存规则</translation>
    </message>
</context>
<context>
    <name>ShortcutList</name>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>键盘快捷键</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>Search the shortcuts</source>
        <translation>搜索快捷键</translation>
    </message>
    <message>
        <source>Shortcuts</source>
        <translation>快捷键</translation>
    </message>
    <message>
        <source>Look at the previous or next node</source>
        <translation>查看上一个或下一个节点</translation>
    </message>
    <message>
        <source>Look at the parent, the newest child</source>
        <translation>查看父节点、最新的子节点</translation>
    </message>
    <message>
        <source>To the fork above, to the next fork below</source>
        <translation>到上方的分叉、到下方的下一个分叉</translation>
    </message>
    <message>
        <source>Go there: files are put back, a branch starts</source>
        <translation>前往：恢复文件并开始新分支</translation>
    </message>
    <message>
        <source>Choose for Compare</source>
        <translation>选入比较</translation>
    </message>
    <message>
        <source>Choose a range for Compare</source>
        <translation>选择比较范围</translation>
    </message>
    <message>
        <source>Search the tree</source>
        <translation>搜索树</translation>
    </message>
    <message>
        <source>Stop looking, choose none</source>
        <translation>停止查看，取消选择</translation>
    </message>
    <message>
        <source>Label</source>
        <translation>标签</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>备注</translation>
    </message>
    <message>
        <source>Prompts only, failures, labelled, all</source>
        <translation>仅提示、失败、有标签、全部</translation>
    </message>
    <message>
        <source>Zoom</source>
        <translation>缩放</translation>
    </message>
    <message>
        <source>Ctrl+wheel</source>
        <translation>Ctrl+滚轮</translation>
    </message>
    <message>
        <source>Send; while the agent works: queue</source>
        <translation>发送；智能体工作时：排队</translation>
    </message>
    <message>
        <source>New line</source>
        <translation>换行</translation>
    </message>
    <message>
        <source>Interrupt the agent and send</source>
        <translation>打断智能体并发送</translation>
    </message>
    <message>
        <source>Name a file</source>
        <translation>引用文件</translation>
    </message>
    <message>
        <source>Messages sent before</source>
        <translation>之前发送的消息</translation>
    </message>
    <message>
        <source>Next change, previous change</source>
        <translation>下一处、上一处更改</translation>
    </message>
    <message>
        <source>Beginning and end of the file</source>
        <translation>文件开头和结尾</translation>
    </message>
    <message>
        <source>Search this file</source>
        <translation>在此文件中搜索</translation>
    </message>
    <message>
        <source>In the message</source>
        <translation>在消息中</translation>
    </message>
    <message>
        <source>In the tree</source>
        <translation>在树中</translation>
    </message>
    <message>
        <source>In the changes</source>
        <translation>在更改中</translation>
    </message>
</context>
<context>
    <name>StartView</name>
    <message>
        <source>Work with a coding agent and see the whole session as a tree.</source>
        <translation>与编程智能体一起工作，并以树的形式看到整个会话。</translation>
    </message>
    <message>
        <source>Open a folder…</source>
        <translation>打开文件夹…</translation>
    </message>
    <message>
        <source>Open a session file…</source>
        <translation>打开会话文件…</translation>
    </message>
    <message>
        <source>Look at the demo</source>
        <translation>看演示</translation>
    </message>
    <message>
        <source>Recent sessions</source>
        <translation>最近的会话</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>Search the sessions</source>
        <translation>搜索会话</translation>
    </message>
    <message>
        <source>Nothing here yet. Open a folder with code: the agent works on a copy of your repository, your own checkout stays as it is.
Every step becomes a node, and a click on a node takes the files back to it.</source>
        <translation>这里还没有内容。打开一个代码文件夹：智能体在仓库的副本上工作，你自己的检出保持原样。
每一步都会成为节点，点击节点即可让文件回到当时。</translation>
    </message>
    <message>
        <source>No session has these words.</source>
        <translation>没有包含这些字词的会话。</translation>
    </message>
    <message>
        <source>You can also drop a folder or a session file here.</source>
        <translation>也可以将文件夹或会话文件拖到这里。</translation>
    </message>
    <message numerus="yes">
        <source>%n node(s)</source>
        <translation>
            <numerusform>%n 个节点</numerusform>
        </translation>
    </message>
    <message>
        <source>damaged</source>
        <translation>已损坏</translation>
    </message>
    <message>
        <source>Open a folder</source>
        <translation>打开文件夹</translation>
    </message>
    <message>
        <source>Open a session</source>
        <translation>打开会话</translation>
    </message>
    <message>
        <source>Sessions (*.worldline *.jsonl *.zip)</source>
        <translation>会话 (*.worldline *.jsonl *.zip)</translation>
    </message>
    <message>
        <source>Let go to open</source>
        <translation>松开即可打开</translation>
    </message>
</context>
<context>
    <name>StatusBar</name>
    <message>
        <source>Status</source>
        <translation>状态</translation>
    </message>
    <message>
        <source>Settings…</source>
        <translation>设置…</translation>
    </message>
    <message>
        <source>Diagnostics…</source>
        <translation>诊断…</translation>
    </message>
    <message>
        <source>Show all…</source>
        <translation>显示全部…</translation>
    </message>
</context>
<context>
    <name>StopRow</name>
    <message>
        <source>The service said: {}</source>
        <translation>服务说明：{}</translation>
    </message>
    <message>
        <source>What happened: {}</source>
        <translation>具体情况：{}</translation>
    </message>
</context>
<context>
    <name>StorageDialog</name>
    <message>
        <source>Storage</source>
        <translation>存储空间</translation>
    </message>
    <message>
        <source>Measuring…</source>
        <translation>正在统计…</translation>
    </message>
    <message>
        <source>Give room back in this session</source>
        <translation>为此会话释放空间</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>移除…</translation>
    </message>
    <message>
        <source>What would lose its files</source>
        <translation>将失去文件的步骤</translation>
    </message>
    <message>
        <source>Open the chosen session</source>
        <translation>打开所选会话</translation>
    </message>
    <message>
        <source>Folders of sessions…</source>
        <translation>会话的文件夹…</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Session</source>
        <translation>会话</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Together</source>
        <translation>合计</translation>
    </message>
    <message>
        <source>Last used</source>
        <translation>最近使用</translation>
    </message>
    <message>
        <source>What each session takes on disk</source>
        <translation>各会话占用的磁盘空间</translation>
    </message>
    <message>
        <source>Files that no step needs any more</source>
        <translation>不再被任何步骤需要的文件</translation>
    </message>
    <message>
        <source>Also the files of steps beside the current path, older than</source>
        <translation>以及当前路径之外、早于以下时间的步骤文件</translation>
    </message>
    <message>
        <source>Age from which files are removed</source>
        <translation>移除文件的时间界限</translation>
    </message>
    <message numerus="yes">
        <source>%n day(s)</source>
        <translation>
            <numerusform>%n 天</numerusform>
        </translation>
    </message>
    <message>
        <source>Remind me of files older than</source>
        <translation>提醒我早于以下时间的文件：</translation>
    </message>
    <message>
        <source>never</source>
        <translation>从不</translation>
    </message>
    <message>
        <source>Nothing is removed by itself: you see the list first.</source>
        <translation>不会自动移除任何内容：你会先看到清单。</translation>
    </message>
    <message numerus="yes">
        <source>%n session(s) take {size} on this computer.</source>
        <translation>
            <numerusform>此计算机上的 %n 个会话共占用 {size}。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>This one takes {size}: {said} for what was said, {files} for %n kept state(s) of its files.</source>
        <translation>
            <numerusform>此会话占用 {size}：对话 {said}，保留的 %n 个文件状态 {files}。</numerusform>
        </translation>
    </message>
    <message>
        <source>{title}  (this one)</source>
        <translation>{title}（当前）</translation>
    </message>
    <message>
        <source>Looking what would go…</source>
        <translation>正在查看可移除的内容…</translation>
    </message>
    <message>
        <source>Nothing to remove: every kept file belongs to a step that is shown.</source>
        <translation>没有可移除的内容：保留的每个文件都属于某个可见步骤。</translation>
    </message>
    <message numerus="yes">
        <source>%n step(s) would lose their files; what was said stays. About {size} become free.</source>
        <translation>
            <numerusform>%n 个步骤将失去其文件；对话内容保留。约可释放 {size}。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n state(s) can go and no step loses anything. About {size} become free.</source>
        <translation>
            <numerusform>%n 个状态可以移除，任何步骤都不会受影响。约可释放 {size}。</numerusform>
        </translation>
    </message>
    <message>
        <source>{size} are free again: {removed} states removed, {kept} kept.</source>
        <translation>已释放 {size}：移除 {removed} 个状态，保留 {kept} 个。</translation>
    </message>
    <message numerus="yes">
        <source>%n step(s)</source>
        <translation>
            <numerusform>%n 个步骤</numerusform>
        </translation>
    </message>
    <message>
        <source>until {day}</source>
        <translation>截至 {day}</translation>
    </message>
    <message>
        <source>Start of the session</source>
        <translation>会话开始</translation>
    </message>
    <message>
        <source>The session is open for reading only.</source>
        <translation>此会话以只读方式打开。</translation>
    </message>
    <message>
        <source>There is nothing to remove.</source>
        <translation>没有可移除的内容。</translation>
    </message>
    <message numerus="yes">
        <source>Remove the files of %n step(s)?</source>
        <translation>
            <numerusform>移除 %n 个步骤的文件？</numerusform>
        </translation>
    </message>
    <message>
        <source>Remove files that no step needs?</source>
        <translation>移除没有步骤需要的文件？</translation>
    </message>
    <message>
        <source>In the session “{title}”</source>
        <translation>在会话“{title}”中</translation>
    </message>
    <message>
        <source>These steps can still be read, but nobody can go back to them any more:</source>
        <translation>这些步骤仍可阅读，但无法再回到那里：</translation>
    </message>
    <message>
        <source>Nothing that is shown is lost.</source>
        <translation>可见的内容都不会丢失。</translation>
    </message>
    <message>
        <source>About {size} become free. This cannot be undone.</source>
        <translation>约可释放 {size}。此操作无法撤销。</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Removing…</source>
        <translation>正在移除…</translation>
    </message>
</context>
<context>
    <name>Taking</name>
    <message>
        <source>Put {} back to how it was before?</source>
        <translation>将 {} 恢复为之前的样子？</translation>
    </message>
    <message>
        <source>Take {} as it is here?</source>
        <translation>采用此处的 {}？</translation>
    </message>
    <message>
        <source>Take {} away? It is not there on the other side.</source>
        <translation>移除 {}？另一侧没有该文件。</translation>
    </message>
    <message>
        <source>Take {} away, as it is here?</source>
        <translation>像此处一样移除 {}？</translation>
    </message>
    <message>
        <source>Revert this part of {}?</source>
        <translation>还原 {} 的这一部分？</translation>
    </message>
    <message>
        <source>Take this part of {}?</source>
        <translation>采用 {} 的这一部分？</translation>
    </message>
    <message>
        <source>Take a file</source>
        <translation>采用文件</translation>
    </message>
    <message>
        <source>What is on disk now is saved as a node first, so this can be undone by going back.</source>
        <translation>磁盘上的现状会先保存为节点，因此可以通过返回来撤销。</translation>
    </message>
    <message>
        <source>Do it</source>
        <translation>执行</translation>
    </message>
    <message>
        <source>{path} was taken over. What was there before is saved in the node above.</source>
        <translation>已取用 {path}。原先的内容保存在上一个节点中。</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>返回</translation>
    </message>
</context>
<context>
    <name>TextViewer</name>
    <message>
        <source>Show more</source>
        <translation>显示更多</translation>
    </message>
    <message>
        <source>Find, Enter for the next</source>
        <translation>查找，按 Enter 到下一处</translation>
    </message>
    <message>
        <source>Find in the text</source>
        <translation>在文本中查找</translation>
    </message>
    <message>
        <source>Copy all</source>
        <translation>全部复制</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>The first {shown} of {total} are shown.</source>
        <translation>显示了 {total} 中的前 {shown}。</translation>
    </message>
</context>
<context>
    <name>Thinking</name>
    <message>
        <source>Thinking…</source>
        <translation>正在思考…</translation>
    </message>
    <message numerus="yes">
        <source>Thought, %n word(s)</source>
        <translation>
            <numerusform>思考，%n 个词</numerusform>
        </translation>
    </message>
    <message>
        <source>unfolded</source>
        <translation>已展开</translation>
    </message>
    <message>
        <source>folded</source>
        <translation>已折叠</translation>
    </message>
</context>
<context>
    <name>ToolCard</name>
    <message>
        <source>Unfold</source>
        <translation>展开</translation>
    </message>
    <message>
        <source>Copy command or path</source>
        <translation>复制命令或路径</translation>
    </message>
    <message>
        <source>Show in the tree</source>
        <translation>在树中显示</translation>
    </message>
    <message>
        <source>Fold</source>
        <translation>折叠</translation>
    </message>
    <message numerus="yes">
        <source>%n file(s)</source>
        <translation>
            <numerusform>%n 个文件</numerusform>
        </translation>
    </message>
    <message>
        <source>exit {}</source>
        <translation>退出码 {}</translation>
    </message>
    <message>
        <source>cannot be undone</source>
        <translation>无法撤销</translation>
    </message>
    <message>
        <source>was countered</source>
        <translation>已抵消</translation>
    </message>
    <message>
        <source>runs code later</source>
        <translation>稍后会运行代码</translation>
    </message>
    <message numerus="yes">
        <source>%n not captured</source>
        <translation>
            <numerusform>%n 项未保存</numerusform>
        </translation>
    </message>
    <message>
        <source>secret masked</source>
        <translation>已遮盖机密</translation>
    </message>
    <message>
        <source>The agent was told: {}</source>
        <translation>已告诉智能体：{}</translation>
    </message>
    <message>
        <source>Arguments repaired: {}</source>
        <translation>参数已修复：{}</translation>
    </message>
    <message>
        <source>Interrupted: it was started and not finished. What it did by then is not known.</source>
        <translation>已中断：已开始但未完成，此前做了什么不得而知。</translation>
    </message>
    <message>
        <source>This step&apos;s files could not be captured.</source>
        <translation>此步骤的文件未能保存。</translation>
    </message>
    <message>
        <source>Not captured, so going back does not bring it back:</source>
        <translation>未捕获，因此返回时无法恢复：</translation>
    </message>
    <message>
        <source>Show all {} lines in Changes</source>
        <translation>在更改中显示全部 {} 行</translation>
    </message>
    <message numerus="yes">
        <source>%n line(s) before</source>
        <translation>
            <numerusform>前面还有 %n 行</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n more line(s)</source>
        <translation>
            <numerusform>还有 %n 行</numerusform>
        </translation>
    </message>
    <message>
        <source>Show the whole output</source>
        <translation>显示完整输出</translation>
    </message>
</context>
<context>
    <name>TreePane</name>
    <message>
        <source>Show only…</source>
        <translation>只显示…</translation>
    </message>
    <message>
        <source>Search the tree (Ctrl+F)</source>
        <translation>搜索树（Ctrl+F）</translation>
    </message>
    <message>
        <source>Fold runs of steps</source>
        <translation>折叠连续步骤</translation>
    </message>
    <message>
        <source>Draw from left to right</source>
        <translation>从左到右绘制</translation>
    </message>
    <message>
        <source>Follow the live branch</source>
        <translation>跟随当前分支</translation>
    </message>
    <message>
        <source>Show the whole tree (Ctrl+9)</source>
        <translation>显示整棵树（Ctrl+9）</translation>
    </message>
    <message>
        <source>All nodes</source>
        <translation>所有节点</translation>
    </message>
    <message>
        <source>Prompts only</source>
        <translation>仅提示</translation>
    </message>
    <message>
        <source>Failures</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>Files changed</source>
        <translation>更改了文件</translation>
    </message>
    <message>
        <source>Effects outside</source>
        <translation>外部影响</translation>
    </message>
    <message>
        <source>Labelled</source>
        <translation>有标签</translation>
    </message>
    <message>
        <source>Search prompts, replies and steps</source>
        <translation>搜索提示、回复和步骤</translation>
    </message>
    <message>
        <source>Search the tree</source>
        <translation>搜索树</translation>
    </message>
    <message>
        <source>Previous (Shift+F3)</source>
        <translation>上一个（Shift+F3）</translation>
    </message>
    <message>
        <source>Next (F3)</source>
        <translation>下一个（F3）</translation>
    </message>
    <message>
        <source>Close the search (Esc)</source>
        <translation>关闭搜索（Esc）</translation>
    </message>
    <message>
        <source>nothing found</source>
        <translation>未找到</translation>
    </message>
    <message>
        <source>Found in: {words}</source>
        <translation>匹配处：{words}</translation>
    </message>
</context>
<context>
    <name>TreeView</name>
    <message>
        <source>Session tree</source>
        <translation>会话树</translation>
    </message>
    <message>
        <source>Arrow keys look at nodes, Enter goes there, Space chooses for Compare, F10 opens the menu.</source>
        <translation>方向键查看节点，Enter 前往，空格选入比较，F10 打开菜单。</translation>
    </message>
    <message>
        <source>No node fits this filter.</source>
        <translation>没有符合此筛选的节点。</translation>
    </message>
    <message>
        <source>Every prompt, reply and step will be a node here.
Click a node to go back to it, files included.</source>
        <translation>每条提示、回复和步骤都会成为这里的节点。
点击节点即可回到那里，文件也一同恢复。</translation>
    </message>
</context>
<context>
    <name>UserRow</name>
    <message>
        <source>You</source>
        <translation>你</translation>
    </message>
    <message>
        <source>Edit and send again (makes a fork)</source>
        <translation>编辑并重新发送（产生分叉）</translation>
    </message>
    <message>
        <source>Copy message</source>
        <translation>复制消息</translation>
    </message>
    <message>
        <source>Show in the tree</source>
        <translation>在树中显示</translation>
    </message>
    <message>
        <source>What the model was told with it</source>
        <translation>同时告知模型的信息</translation>
    </message>
    <message>
        <source>You said: {}</source>
        <translation>你说：{}</translation>
    </message>
    <message>
        <source>Show less (the rest is copied with “Copy message”)</source>
        <translation>收起（其余部分可用“复制消息”复制）</translation>
    </message>
    <message>
        <source>Show less</source>
        <translation>收起</translation>
    </message>
    <message>
        <source>Show all of it · {}</source>
        <translation>显示全部 · {}</translation>
    </message>
</context>
<context>
    <name>WaitingBar</name>
    <message>
        <source>Show (Ctrl+Shift+A)</source>
        <translation>显示（Ctrl+Shift+A）</translation>
    </message>
    <message numerus="yes">
        <source> · and %n more</source>
        <translation>
            <numerusform> · 另有 %n 项</numerusform>
        </translation>
    </message>
    <message>
        <source>Waiting for you: {}</source>
        <translation>等待你处理：{}</translation>
    </message>
</context>
<context>
    <name>WindowActions</name>
    <message>
        <source>Go</source>
        <translation>前往</translation>
    </message>
    <message>
        <source>Back to where I was</source>
        <translation>回到之前所在处</translation>
    </message>
    <message>
        <source>Forward again</source>
        <translation>再次前进</translation>
    </message>
    <message>
        <source>Search the tree</source>
        <translation>搜索树</translation>
    </message>
    <message>
        <source>Next match</source>
        <translation>下一个匹配</translation>
    </message>
    <message>
        <source>Previous match</source>
        <translation>上一个匹配</translation>
    </message>
    <message>
        <source>Show where I am</source>
        <translation>显示我在哪里</translation>
    </message>
    <message>
        <source>Go to the node I look at</source>
        <translation>前往正在查看的节点</translation>
    </message>
    <message>
        <source>Compare the chosen nodes</source>
        <translation>比较选中的节点</translation>
    </message>
    <message>
        <source>Label this node…</source>
        <translation>为此节点加标签…</translation>
    </message>
    <message>
        <source>Note on this node…</source>
        <translation>为此节点写备注…</translation>
    </message>
    <message>
        <source>As the model sees it</source>
        <translation>模型视角</translation>
    </message>
    <message>
        <source>Bring to my branch…</source>
        <translation>带到我的分支…</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>导出…</translation>
    </message>
    <message>
        <source>View</source>
        <translation>视图</translation>
    </message>
    <message>
        <source>Go to the tree</source>
        <translation>转到树</translation>
    </message>
    <message>
        <source>Go to the chat</source>
        <translation>转到对话</translation>
    </message>
    <message>
        <source>Go to the changes</source>
        <translation>转到更改</translation>
    </message>
    <message>
        <source>Show or hide the tree</source>
        <translation>显示或隐藏树</translation>
    </message>
    <message>
        <source>Show or hide the changes</source>
        <translation>显示或隐藏更改</translation>
    </message>
    <message>
        <source>Show the whole tree</source>
        <translation>显示整棵树</translation>
    </message>
    <message>
        <source>Zoom in</source>
        <translation>放大</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>缩小</translation>
    </message>
    <message>
        <source>Normal size</source>
        <translation>正常大小</translation>
    </message>
    <message>
        <source>Next filter of the tree</source>
        <translation>树的下一个筛选</translation>
    </message>
    <message>
        <source>Fold or unfold runs of steps</source>
        <translation>折叠或展开连续步骤</translation>
    </message>
    <message>
        <source>Tree from left to right</source>
        <translation>树从左到右</translation>
    </message>
    <message>
        <source>Overview in the corner</source>
        <translation>角落概览</translation>
    </message>
    <message>
        <source>Agent</source>
        <translation>智能体</translation>
    </message>
    <message>
        <source>Stop the agent</source>
        <translation>停止智能体</translation>
    </message>
    <message>
        <source>Retry now</source>
        <translation>立即重试</translation>
    </message>
    <message>
        <source>Summarise the history now</source>
        <translation>立即压缩历史</translation>
    </message>
    <message>
        <source>Window</source>
        <translation>窗口</translation>
    </message>
    <message>
        <source>All commands</source>
        <translation>所有命令</translation>
    </message>
    <message>
        <source>Open a folder…</source>
        <translation>打开文件夹…</translation>
    </message>
    <message>
        <source>Open a session file…</source>
        <translation>打开会话文件…</translation>
    </message>
    <message>
        <source>Recent sessions</source>
        <translation>最近的会话</translation>
    </message>
    <message>
        <source>Rename this session…</source>
        <translation>重命名此会话…</translation>
    </message>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>键盘快捷键</translation>
    </message>
    <message>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
    <message>
        <source>Language: {}</source>
        <translation>语言：{}</translation>
    </message>
    <message>
        <source>Close the window</source>
        <translation>关闭窗口</translation>
    </message>
    <message>
        <source>Quit Worldline</source>
        <translation>退出 Worldline</translation>
    </message>
    <message>
        <source>Theme: as the system</source>
        <translation>主题：跟随系统</translation>
    </message>
    <message>
        <source>Theme: light</source>
        <translation>主题：浅色</translation>
    </message>
    <message>
        <source>Theme: dark</source>
        <translation>主题：深色</translation>
    </message>
    <message>
        <source>Theme: high contrast</source>
        <translation>主题：高对比度</translation>
    </message>
    <message>
        <source>Menu</source>
        <translation>菜单</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>the session is open for reading only</source>
        <translation>会话以只读方式打开</translation>
    </message>
    <message>
        <source>no session is open</source>
        <translation>没有打开的会话</translation>
    </message>
    <message>
        <source>nothing to go back to yet</source>
        <translation>尚无可返回之处</translation>
    </message>
    <message>
        <source>nothing to go forward to</source>
        <translation>没有可前进之处</translation>
    </message>
    <message>
        <source>first choose two nodes (Space, Ctrl+click)</source>
        <translation>请先选择两个节点（空格、Ctrl+点击）</translation>
    </message>
    <message>
        <source>nothing is running</source>
        <translation>没有正在运行的任务</translation>
    </message>
    <message>
        <source>nothing waits to be tried again</source>
        <translation>没有等待重试的请求</translation>
    </message>
    <message>
        <source>Rename this session</source>
        <translation>重命名此会话</translation>
    </message>
    <message>
        <source>Title</source>
        <translation>标题</translation>
    </message>
    <message>
        <source>Open a folder</source>
        <translation>打开文件夹</translation>
    </message>
    <message>
        <source>Open a session</source>
        <translation>打开会话</translation>
    </message>
    <message>
        <source>Sessions (*.worldline *.jsonl *.zip)</source>
        <translation>会话 (*.worldline *.jsonl *.zip)</translation>
    </message>
</context>
<context>
    <name>WindowNotices</name>
    <message>
        <source>Waiting for you: {title}</source>
        <translation>等待你处理：{title}</translation>
    </message>
    <message>
        <source>The agent asks: {text}</source>
        <translation>智能体提问：{text}</translation>
    </message>
    <message>
        <source>The model is scripted: this demo needs no account and no network. Files and commands are real.</source>
        <translation>模型是脚本化的：此演示无需账号和网络。文件和命令都是真实的。</translation>
    </message>
    <message>
        <source>Fault drill…</source>
        <translation>故障演练…</translation>
    </message>
    <message>
        <source>The session is open in another window.</source>
        <translation>此会话已在另一个窗口中打开。</translation>
    </message>
    <message>
        <source>Read only. {why}</source>
        <translation>只读。{why}</translation>
    </message>
    <message>
        <source>Read only. The session is not open elsewhere any more.</source>
        <translation>只读。该会话已不在别处打开。</translation>
    </message>
    <message>
        <source>Open for writing</source>
        <translation>以可写方式打开</translation>
    </message>
    <message>
        <source>The engine stopped. Nothing saved is lost. Restarting…</source>
        <translation>引擎已停止，已保存的内容不会丢失。正在重启……</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Other sessions…</source>
        <translation>其他会话…</translation>
    </message>
    <message>
        <source>Make the folder anew</source>
        <translation>重新创建文件夹</translation>
    </message>
    <message>
        <source>… and {n} more</source>
        <translation>…还有 {n} 条</translation>
    </message>
    <message>
        <source>Open settings</source>
        <translation>打开设置</translation>
    </message>
    <message>
        <source>New session…</source>
        <translation>新会话…</translation>
    </message>
    <message>
        <source>At “{title}”</source>
        <translation>位于“{title}”</translation>
    </message>
    <message>
        <source> on {branch}</source>
        <translation>，分支 {branch}</translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) put back and verified</source>
        <translation>
            <numerusform>已恢复并核对 %n 个文件</numerusform>
        </translation>
    </message>
    <message>
        <source>1 effect remains</source>
        <translation>仍有 1 项影响</translation>
    </message>
    <message>
        <source>{n} effects remain</source>
        <translation>仍有 {n} 项影响</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>返回</translation>
    </message>
    <message>
        <source>1 node chosen. Choose another to compare (Ctrl+click or Space).</source>
        <translation>已选 1 个节点。再选一个即可比较（Ctrl+点击或空格）。</translation>
    </message>
    <message>
        <source>{n} nodes chosen.</source>
        <translation>已选 {n} 个节点。</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>比较</translation>
    </message>
    <message>
        <source>Choose none</source>
        <translation>取消选择</translation>
    </message>
    <message>
        <source>The agent ended: {reason}</source>
        <translation>智能体已结束：{reason}</translation>
    </message>
</context>
<context>
    <name>Windows</name>
    <message>
        <source>{path} is not there.</source>
        <translation>{path} 不存在。</translation>
    </message>
    <message>
        <source>{path} is neither a folder nor a session. Sessions end in .worldline; those of other agents in .jsonl.</source>
        <translation>{path} 既不是文件夹也不是会话。会话文件以 .worldline 结尾，其他智能体的会话以 .jsonl 结尾。</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>打开</translation>
    </message>
    <message numerus="yes">
        <source>Open %n sessions?</source>
        <translation>
            <numerusform>打开 %n 个会话？</numerusform>
        </translation>
    </message>
    <message>
        <source>Each has a window and a process of its own.</source>
        <translation>每个会话都有自己的窗口和进程。</translation>
    </message>
    <message>
        <source>Open them</source>
        <translation>全部打开</translation>
    </message>
</context>
<context>
    <name>Words</name>
    <message>
        <source>low</source>
        <translation>低</translation>
    </message>
    <message>
        <source>medium</source>
        <translation>中</translation>
    </message>
    <message>
        <source>high</source>
        <translation>高</translation>
    </message>
    <message>
        <source>xhigh</source>
        <translation>很高</translation>
    </message>
    <message>
        <source>max</source>
        <translation>最高</translation>
    </message>
    <message>
        <source>run</source>
        <translation>运行</translation>
    </message>
    <message>
        <source>read</source>
        <translation>读取</translation>
    </message>
    <message>
        <source>write</source>
        <translation>写入</translation>
    </message>
    <message>
        <source>edit</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>search</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>find</source>
        <translation>查找</translation>
    </message>
    <message>
        <source>list</source>
        <translation>列出</translation>
    </message>
    <message>
        <source>ask</source>
        <translation>询问</translation>
    </message>
    <message>
        <source>ask for access</source>
        <translation>请求权限</translation>
    </message>
    <message>
        <source>task</source>
        <translation>任务</translation>
    </message>
    <message>
        <source>plan</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>fetch</source>
        <translation>获取</translation>
    </message>
    <message>
        <source>process</source>
        <translation>进程</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>记忆</translation>
    </message>
    <message>
        <source>done</source>
        <translation>完成</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>denied</source>
        <translation>已拒绝</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>已停止</translation>
    </message>
    <message>
        <source>aborted by you</source>
        <translation>由你中止</translation>
    </message>
    <message>
        <source>interrupted, what it did is not known</source>
        <translation>已中断，做了什么不得而知</translation>
    </message>
    <message>
        <source>working</source>
        <translation>进行中</translation>
    </message>
    <message>
        <source>waiting for you</source>
        <translation>等待你处理</translation>
    </message>
    <message>
        <source>There is no key for the model</source>
        <translation>尚未设置模型的密钥</translation>
    </message>
    <message>
        <source>Completed</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>Ended before your answer</source>
        <translation>未等到你的回答即已结束</translation>
    </message>
    <message>
        <source>Stopped by you</source>
        <translation>由你停止</translation>
    </message>
    <message>
        <source>Stopped: turn limit</source>
        <translation>已停止：达到轮次上限</translation>
    </message>
    <message>
        <source>Stopped: limit of tool calls</source>
        <translation>已停止：达到工具调用上限</translation>
    </message>
    <message>
        <source>Stopped: time limit</source>
        <translation>已停止：达到时间上限</translation>
    </message>
    <message>
        <source>Stopped: token budget</source>
        <translation>已停止：词元预算用完</translation>
    </message>
    <message>
        <source>Stopped: cost limit</source>
        <translation>已停止：达到费用上限</translation>
    </message>
    <message>
        <source>Stopped: the same thing again and again</source>
        <translation>已停止：反复做同一件事</translation>
    </message>
    <message>
        <source>Stopped: the same failure again and again</source>
        <translation>已停止：反复出现同一失败</translation>
    </message>
    <message>
        <source>The model service failed</source>
        <translation>模型服务出错</translation>
    </message>
    <message>
        <source>The model service is overloaded</source>
        <translation>模型服务过载</translation>
    </message>
    <message>
        <source>Rate limit reached</source>
        <translation>请求过于频繁</translation>
    </message>
    <message>
        <source>The key was not accepted</source>
        <translation>密钥未被接受</translation>
    </message>
    <message>
        <source>The quota is used up</source>
        <translation>额度已用完</translation>
    </message>
    <message>
        <source>The connection to the model failed</source>
        <translation>与模型的连接失败</translation>
    </message>
    <message>
        <source>The context is full</source>
        <translation>上下文已满</translation>
    </message>
    <message>
        <source>The reply reached its length limit</source>
        <translation>回复达到长度上限</translation>
    </message>
    <message>
        <source>The model declined</source>
        <translation>模型拒绝作答</translation>
    </message>
    <message>
        <source>The model answered nothing</source>
        <translation>模型没有作答</translation>
    </message>
    <message>
        <source>Stopped by a hook</source>
        <translation>被钩子停止</translation>
    </message>
    <message>
        <source>The session could not be saved</source>
        <translation>会话未能保存</translation>
    </message>
    <message>
        <source>The sandbox does not start</source>
        <translation>沙盒无法启动</translation>
    </message>
    <message>
        <source>A defect in Worldline ended the run</source>
        <translation>Worldline 的缺陷使运行结束</translation>
    </message>
    <message>
        <source>Interrupted</source>
        <translation>已中断</translation>
    </message>
    <message>
        <source>Ended for an unknown reason</source>
        <translation>因未知原因结束</translation>
    </message>
    <message>
        <source>Allow this command?</source>
        <translation>允许此命令？</translation>
    </message>
    <message>
        <source>Allow this change?</source>
        <translation>允许此更改？</translation>
    </message>
    <message>
        <source>Allow reading outside the workspace?</source>
        <translation>允许读取工作区之外的内容？</translation>
    </message>
    <message>
        <source>Allow this network request?</source>
        <translation>允许此网络请求？</translation>
    </message>
    <message>
        <source>Allow this access?</source>
        <translation>允许此访问？</translation>
    </message>
    <message>
        <source>Go on for 10 turns</source>
        <translation>再继续 10 轮</translation>
    </message>
    <message>
        <source>Go back and fork</source>
        <translation>退回并分叉</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Open settings</source>
        <translation>打开设置</translation>
    </message>
    <message>
        <source>Enter a key</source>
        <translation>输入密钥</translation>
    </message>
    <message>
        <source>Compact the context</source>
        <translation>压缩上下文</translation>
    </message>
    <message>
        <source>Use a larger model</source>
        <translation>使用更大的模型</translation>
    </message>
    <message>
        <source>Leave out old tool results</source>
        <translation>略去旧的工具结果</translation>
    </message>
    <message>
        <source>Open the billing page</source>
        <translation>打开账单页面</translation>
    </message>
    <message>
        <source>retry</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>repair</source>
        <translation>修复</translation>
    </message>
    <message>
        <source>repair of the request</source>
        <translation>请求修复</translation>
    </message>
    <message>
        <source>other model</source>
        <translation>更换模型</translation>
    </message>
    <message>
        <source>cache miss</source>
        <translation>缓存未命中</translation>
    </message>
    <message>
        <source>compaction</source>
        <translation>压缩</translation>
    </message>
    <message>
        <source>branch summary</source>
        <translation>分支摘要</translation>
    </message>
    <message>
        <source>way back</source>
        <translation>回退</translation>
    </message>
    <message>
        <source>hook</source>
        <translation>钩子</translation>
    </message>
    <message>
        <source>files</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>brake</source>
        <translation>制动</translation>
    </message>
    <message>
        <source>hint to the model</source>
        <translation>给模型的提示</translation>
    </message>
    <message>
        <source>engine</source>
        <translation>引擎</translation>
    </message>
    <message>
        <source>tool server</source>
        <translation>工具服务器</translation>
    </message>
    <message>
        <source>secret masked</source>
        <translation>已遮盖机密</translation>
    </message>
    <message>
        <source>secret in a message</source>
        <translation>消息中的机密</translation>
    </message>
    <message>
        <source>branch</source>
        <translation>分支</translation>
    </message>
    <message>
        <source>notes</source>
        <translation>笔记</translation>
    </message>
    <message>
        <source>price not known</source>
        <translation>价格未知</translation>
    </message>
    <message>
        <source>cache</source>
        <translation>缓存</translation>
    </message>
    <message>
        <source>request changed by the server</source>
        <translation>请求被服务器改动</translation>
    </message>
    <message>
        <source>refused history</source>
        <translation>被拒绝的历史</translation>
    </message>
    <message>
        <source>conversation cut by the server</source>
        <translation>对话被服务器截断</translation>
    </message>
    <message>
        <source>thinking refused</source>
        <translation>思考被拒绝</translation>
    </message>
    <message>
        <source>{} ms</source>
        <translation>{} 毫秒</translation>
    </message>
    <message>
        <source>{} s</source>
        <translation>{} 秒</translation>
    </message>
    <message>
        <source>cost unknown</source>
        <translation>费用未知</translation>
    </message>
    <message>
        <source> You said: “{text}”</source>
        <translation>你说：“{text}”</translation>
    </message>
    <message>
        <source>You denied it.</source>
        <translation>你已拒绝。</translation>
    </message>
    <message>
        <source>You denied exactly this before; you were not asked again.</source>
        <translation>你之前拒绝过完全相同的操作，因此没有再次询问。</translation>
    </message>
    <message>
        <source>Nobody answered in time, which counts as a denial.</source>
        <translation>无人及时答复，视为拒绝。</translation>
    </message>
</context>
<context>
    <name>WrapLabel</name>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
</context>
<context>
    <name>chat</name>
    <message>
        <source>{done} of {n} done</source>
        <translation>已完成 {done}/{n}</translation>
    </message>
</context>
<context>
    <name>defects</name>
    <message>
        <source>Something in the window went wrong.</source>
        <translation>窗口出现了问题。</translation>
    </message>
    <message>
        <source>Nothing saved is lost, and you can go on. The details help to correct it.</source>
        <translation>已保存的内容不会丢失，你可以继续。详情有助于修正问题。</translation>
    </message>
</context>
<context>
    <name>desk</name>
    <message>
        <source>Dialogs</source>
        <translation>对话框</translation>
    </message>
    <message>
        <source>Show what waits for you</source>
        <translation>显示等待你的事项</translation>
    </message>
    <message>
        <source>Done outside the workspace…</source>
        <translation>工作区之外所做的事…</translation>
    </message>
    <message>
        <source>Diagnostics</source>
        <translation>诊断</translation>
    </message>
    <message>
        <source>Settings…</source>
        <translation>设置…</translation>
    </message>
    <message>
        <source>New session…</source>
        <translation>新会话…</translation>
    </message>
    <message>
        <source>All sessions, import…</source>
        <translation>所有会话、导入…</translation>
    </message>
    <message>
        <source>Storage…</source>
        <translation>存储空间…</translation>
    </message>
    <message>
        <source>Folders of sessions…</source>
        <translation>会话的文件夹…</translation>
    </message>
    <message>
        <source>About Worldline</source>
        <translation>关于 Worldline</translation>
    </message>
    <message>
        <source>Return to my branch…</source>
        <translation>返回我的分支…</translation>
    </message>
    <message>
        <source>Nothing waits for you.</source>
        <translation>没有等待你处理的事项。</translation>
    </message>
</context>
<context>
    <name>dialog</name>
    <message>
        <source>failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>Marked in the tree. Only you see it; the model is not told.</source>
        <translation>已在树中标记。只有你能看到，不会告诉模型。</translation>
    </message>
    <message>
        <source>Choose a file in the list first.</source>
        <translation>请先在列表中选择文件。</translation>
    </message>
    <message>
        <source>{path} was taken over. What was there before is saved in the node above.</source>
        <translation>已取用 {path}。原先的内容保存在上一个节点中。</translation>
    </message>
    <message>
        <source>The session is open for reading only.</source>
        <translation>会话以只读方式打开。</translation>
    </message>
    <message>
        <source>Testing…</source>
        <translation>正在测试…</translation>
    </message>
</context>
<context>
    <name>home</name>
    <message>
        <source>1 file</source>
        <translation>1 个文件</translation>
    </message>
    <message>
        <source>{n} files</source>
        <translation>{n} 个文件</translation>
    </message>
    <message>
        <source>The branch {branch} has the work now ({files}). Merge it when you like.</source>
        <translation>成果已在分支 {branch} 上（{files}），可随时合并。</translation>
    </message>
    <message>
        <source>Brought to {branch} as commit {commit} ({files}).</source>
        <translation>已作为提交 {commit} 带到 {branch}（{files}）。</translation>
    </message>
    <message>
        <source>Brought to your folder as commit {commit} ({files}).</source>
        <translation>已作为提交 {commit} 带到你的文件夹（{files}）。</translation>
    </message>
    <message>
        <source>Brought to {root} as uncommitted changes ({files}).</source>
        <translation>已作为未提交的更改带到 {root}（{files}）。</translation>
    </message>
    <message>
        <source>Kept as you have them: {n}.</source>
        <translation>保留你的版本：{n} 个。</translation>
    </message>
    <message>
        <source>Could not be brought: {n}.</source>
        <translation>未能带到：{n} 个。</translation>
    </message>
</context>
<context>
    <name>label</name>
    <message>
        <source>Image</source>
        <translation>图片</translation>
    </message>
</context>
<context>
    <name>self._view</name>
    <message>
        <source>Note on “{title}”</source>
        <translation>“{title}”的备注</translation>
    </message>
    <message>
        <source>What was learnt here? Only you see it.</source>
        <translation>从这里学到了什么？只有你能看到。</translation>
    </message>
    <message>
        <source>Label</source>
        <translation>标签</translation>
    </message>
</context>
<context>
    <name>self.edit</name>
    <message>
        <source>Message… @ names a file</source>
        <translation>输入消息… 用 @ 引用文件</translation>
    </message>
</context>
<context>
    <name>status</name>
    <message>
        <source>cost unknown</source>
        <translation>费用未知</translation>
    </message>
    <message>
        <source>there is no key</source>
        <translation>没有密钥</translation>
    </message>
    <message>
        <source>completed</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>not answered</source>
        <translation>未获答复</translation>
    </message>
    <message>
        <source>stopped by you</source>
        <translation>由你停止</translation>
    </message>
    <message>
        <source>turn limit</source>
        <translation>达到轮次上限</translation>
    </message>
    <message>
        <source>limit of tool calls</source>
        <translation>达到工具调用上限</translation>
    </message>
    <message>
        <source>time limit</source>
        <translation>达到时间上限</translation>
    </message>
    <message>
        <source>token budget</source>
        <translation>词元预算用完</translation>
    </message>
    <message>
        <source>cost limit</source>
        <translation>达到费用上限</translation>
    </message>
    <message>
        <source>the same failure again and again</source>
        <translation>反复出现同一失败</translation>
    </message>
    <message>
        <source>the service failed</source>
        <translation>服务出错</translation>
    </message>
    <message>
        <source>the service is overloaded</source>
        <translation>服务过载</translation>
    </message>
    <message>
        <source>too many requests</source>
        <translation>请求过于频繁</translation>
    </message>
    <message>
        <source>the key was refused</source>
        <translation>密钥被拒绝</translation>
    </message>
    <message>
        <source>no credit left</source>
        <translation>额度已用完</translation>
    </message>
    <message>
        <source>no connection</source>
        <translation>没有连接</translation>
    </message>
    <message>
        <source>the context is full</source>
        <translation>上下文已满</translation>
    </message>
    <message>
        <source>the reply was too long</source>
        <translation>回复过长</translation>
    </message>
    <message>
        <source>the model declined</source>
        <translation>模型拒绝作答</translation>
    </message>
    <message>
        <source>the reply was empty</source>
        <translation>回复为空</translation>
    </message>
    <message>
        <source>blocked by a hook</source>
        <translation>被钩子阻止</translation>
    </message>
    <message>
        <source>could not be saved</source>
        <translation>未能保存</translation>
    </message>
    <message>
        <source>the sandbox does not start</source>
        <translation>沙盒无法启动</translation>
    </message>
    <message>
        <source>a fault of Worldline</source>
        <translation>Worldline 的缺陷</translation>
    </message>
    <message>
        <source>interrupted</source>
        <translation>已中断</translation>
    </message>
    <message>
        <source>ended for an unknown reason</source>
        <translation>因未知原因结束</translation>
    </message>
    <message>
        <source>The service did not answer.</source>
        <translation>服务没有响应。</translation>
    </message>
    <message>
        <source>{why} Trying again now ({n} of {of}).</source>
        <translation>{why}正在重试（第 {n} 次，共 {of} 次）。</translation>
    </message>
    <message>
        <source>{why} Trying again in {s} s ({n} of {of}).</source>
        <translation>{why}{s} 秒后重试（第 {n} 次，共 {of} 次）。</translation>
    </message>
    <message>
        <source>The engine stopped. Nothing saved is lost. Restarting…</source>
        <translation>引擎已停止，已保存的内容不会丢失。正在重启……</translation>
    </message>
    <message>
        <source>The engine stopped.</source>
        <translation>引擎已停止。</translation>
    </message>
    <message>
        <source>Start again</source>
        <translation>重新启动</translation>
    </message>
    <message>
        <source>Getting ready: the model&apos;s library is loading. You can type already.</source>
        <translation>正在准备：模型库加载中。你已经可以输入。</translation>
    </message>
    <message>
        <source>Retry now</source>
        <translation>立即重试</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Waiting for you</source>
        <translation>等待你处理</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>Something went wrong</source>
        <translation>出现了问题</translation>
    </message>
    <message>
        <source>Why</source>
        <translation>原因</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>就绪</translation>
    </message>
    <message>
        <source>could not be saved at that time</source>
        <translation>当时未能保存</translation>
    </message>
    <message>
        <source>Ready · last: {reason}</source>
        <translation>就绪 · 上次：{reason}</translation>
    </message>
    <message>
        <source>Working</source>
        <translation>正在工作</translation>
    </message>
    <message>
        <source>Summarising the history to make room</source>
        <translation>正在压缩历史以腾出空间</translation>
    </message>
    <message>
        <source>Putting the files back</source>
        <translation>正在恢复文件</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>正在停止…</translation>
    </message>
    <message>
        <source>{asked} cannot answer now; {model} answers for now.</source>
        <translation>{asked} 暂时无法作答，由 {model} 代答。</translation>
    </message>
    <message>
        <source> · {n} queued</source>
        <translation> · {n} 条排队</translation>
    </message>
    <message>
        <source>Another model answers</source>
        <translation>由其他模型作答</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>model –</source>
        <translation>模型 –</translation>
    </message>
    <message>
        <source>Context: what the model is sent</source>
        <translation>上下文：发送给模型的内容</translation>
    </message>
    <message>
        <source>Cost of this session</source>
        <translation>本会话的费用</translation>
    </message>
    <message>
        <source>cache {n} %</source>
        <translation>缓存 {n} %</translation>
    </message>
    <message>
        <source>cache –</source>
        <translation>缓存 –</translation>
    </message>
    <message>
        <source>How much of the context was read from the cache</source>
        <translation>上下文中有多少来自缓存</translation>
    </message>
    <message>
        <source>saved</source>
        <translation>已保存</translation>
    </message>
    <message>
        <source>not saved</source>
        <translation>未保存</translation>
    </message>
    <message>
        <source>Every step is on disk before the next begins</source>
        <translation>每一步都先写入磁盘再开始下一步</translation>
    </message>
    <message>
        <source>sandbox: does not start</source>
        <translation>沙盒：无法启动</translation>
    </message>
    <message>
        <source>sandbox: complete</source>
        <translation>沙盒：完整</translation>
    </message>
    <message>
        <source>sandbox: partial</source>
        <translation>沙盒：部分</translation>
    </message>
    <message>
        <source>no sandbox</source>
        <translation>无沙盒</translation>
    </message>
    <message>
        <source>sandbox: –</source>
        <translation>沙盒：–</translation>
    </message>
    <message>
        <source>What commands can reach</source>
        <translation>命令可触及的范围</translation>
    </message>
    <message>
        <source>the same thing again and again</source>
        <translation>反复做同一件事</translation>
    </message>
    <message>
        <source>Things done outside the files, which no click takes back</source>
        <translation>文件之外所做的事，点击无法撤回</translation>
    </message>
    <message>
        <source>{n} outside</source>
        <translation>外部影响 {n} 项</translation>
    </message>
    <message>
        <source>nothing outside</source>
        <translation>无外部影响</translation>
    </message>
    <message>
        <source>Cannot be undone by going back</source>
        <translation>跳转无法撤销</translation>
    </message>
    <message>
        <source>Can be put back from the list</source>
        <translation>可在列表中恢复</translation>
    </message>
    <message>
        <source>⚠ {n} cannot be undone</source>
        <translation>⚠ {n} 项无法撤销</translation>
    </message>
    <message>
        <source>⚠ {n} on other branches</source>
        <translation>⚠ 其他分支上 {n} 项</translation>
    </message>
    <message>
        <source>Last run</source>
        <translation>上次运行</translation>
    </message>
    <message>
        <source>Waits because</source>
        <translation>等待原因</translation>
    </message>
    <message>
        <source>Branch</source>
        <translation>分支</translation>
    </message>
    <message>
        <source>Queued messages</source>
        <translation>排队的消息</translation>
    </message>
    <message>
        <source>Running processes</source>
        <translation>正在运行的进程</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>运行</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>作答的模型</translation>
    </message>
    <message>
        <source>Asked for</source>
        <translation>请求的模型</translation>
    </message>
    <message>
        <source>Used</source>
        <translation>已用</translation>
    </message>
    <message>
        <source>{n} tokens</source>
        <translation>{n} 词元</translation>
    </message>
    <message>
        <source>Room</source>
        <translation>容量</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>What the next request sends to the model. Near the limit the history is summarised; nothing is lost from the tree.</source>
        <translation>下一次请求发送给模型的内容。接近上限时会压缩历史，树中什么都不会丢失。</translation>
    </message>
    <message>
        <source>This session</source>
        <translation>本会话</translation>
    </message>
    <message>
        <source>From the token counts of the answers and the list prices known here.</source>
        <translation>根据回复的词元数和此处已知的标价计算。</translation>
    </message>
    <message>
        <source>Cost</source>
        <translation>费用</translation>
    </message>
    <message>
        <source>Read from the cache</source>
        <translation>来自缓存</translation>
    </message>
    <message>
        <source>Text that was sent before and did not change costs a tenth.</source>
        <translation>发送过且未改变的文本只需十分之一的费用。</translation>
    </message>
    <message>
        <source>Cache</source>
        <translation>缓存</translation>
    </message>
    <message>
        <source>Commands can write only to the workspace and reach no network. What needs more is asked first.</source>
        <translation>命令只能写入工作区，且无法访问网络。需要更多权限时会先询问。</translation>
    </message>
    <message>
        <source>Commands are confined in part. What is not confined is asked first.</source>
        <translation>命令受到部分限制。未受限制的会先询问。</translation>
    </message>
    <message>
        <source>This system offers no sandbox: commands are judged by their text, and more is asked.</source>
        <translation>此系统不提供沙盒：按命令文本判断，并更多地询问。</translation>
    </message>
    <message>
        <source>Sandbox</source>
        <translation>沙盒</translation>
    </message>
    <message>
        <source>This machine</source>
        <translation>此计算机</translation>
    </message>
    <message>
        <source>To confine commands on Linux: install bubblewrap, let users make namespaces, and start the session again. Settings say what else can be chosen.</source>
        <translation>要在 Linux 上限制命令：请安装 bubblewrap，允许普通用户创建命名空间，然后重新打开会话。设置中列出了其他可选方式。</translation>
    </message>
    <message>
        <source>On other branches</source>
        <translation>在其他分支</translation>
    </message>
    <message>
        <source>Done outside the files</source>
        <translation>文件之外所做的事</translation>
    </message>
    <message>
        <source>Going back in the tree puts files back. It does not take these back.</source>
        <translation>在树中回退会恢复文件，但不会撤回这些事。</translation>
    </message>
    <message>
        <source>Every step is on disk before the next begins.</source>
        <translation>每一步都先写入磁盘再开始下一步。</translation>
    </message>
    <message>
        <source>Saved</source>
        <translation>已保存</translation>
    </message>
</context>
<context>
    <name>tree</name>
    <message>
        <source>you are here</source>
        <translation>你在这里</translation>
    </message>
    <message>
        <source>read</source>
        <translation>读取</translation>
    </message>
    <message>
        <source>write</source>
        <translation>写入</translation>
    </message>
    <message>
        <source>edit</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>run</source>
        <translation>运行</translation>
    </message>
    <message>
        <source>find</source>
        <translation>查找</translation>
    </message>
    <message>
        <source>search</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>ask</source>
        <translation>询问</translation>
    </message>
    <message>
        <source>task</source>
        <translation>任务</translation>
    </message>
    <message>
        <source>plan</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>fetch</source>
        <translation>获取</translation>
    </message>
    <message>
        <source>list</source>
        <translation>列出</translation>
    </message>
    <message>
        <source>process</source>
        <translation>进程</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>记忆</translation>
    </message>
    <message>
        <source>ask for access</source>
        <translation>请求访问权限</translation>
    </message>
    <message>
        <source>done</source>
        <translation>完成</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>失败</translation>
    </message>
    <message>
        <source>denied</source>
        <translation>已拒绝</translation>
    </message>
    <message>
        <source>stopped by a brake</source>
        <translation>被限制停止</translation>
    </message>
    <message>
        <source>aborted by you</source>
        <translation>由你中止</translation>
    </message>
    <message>
        <source>not answered</source>
        <translation>未获答复</translation>
    </message>
    <message>
        <source>turn limit</source>
        <translation>轮次上限</translation>
    </message>
    <message>
        <source>call limit</source>
        <translation>调用上限</translation>
    </message>
    <message>
        <source>time limit</source>
        <translation>时间上限</translation>
    </message>
    <message>
        <source>token budget</source>
        <translation>词元预算</translation>
    </message>
    <message>
        <source>cost limit</source>
        <translation>费用上限</translation>
    </message>
    <message>
        <source>same thing again</source>
        <translation>重复</translation>
    </message>
    <message>
        <source>same failure again</source>
        <translation>反复同一失败</translation>
    </message>
    <message>
        <source>service failed</source>
        <translation>服务故障</translation>
    </message>
    <message>
        <source>overloaded</source>
        <translation>过载</translation>
    </message>
    <message>
        <source>rate limit</source>
        <translation>速率限制</translation>
    </message>
    <message>
        <source>no valid key</source>
        <translation>没有有效密钥</translation>
    </message>
    <message>
        <source>quota used up</source>
        <translation>额度用尽</translation>
    </message>
    <message>
        <source>no network</source>
        <translation>无网络</translation>
    </message>
    <message>
        <source>context full</source>
        <translation>上下文已满</translation>
    </message>
    <message>
        <source>length limit</source>
        <translation>长度上限</translation>
    </message>
    <message>
        <source>declined</source>
        <translation>模型拒绝</translation>
    </message>
    <message>
        <source>empty reply</source>
        <translation>空回复</translation>
    </message>
    <message>
        <source>stopped by a hook</source>
        <translation>被钩子停止</translation>
    </message>
    <message>
        <source>not saved</source>
        <translation>未能保存</translation>
    </message>
    <message>
        <source>no sandbox</source>
        <translation>无沙盒</translation>
    </message>
    <message>
        <source>defect</source>
        <translation>程序缺陷</translation>
    </message>
    <message>
        <source>interrupted</source>
        <translation>已中断</translation>
    </message>
    <message>
        <source>working</source>
        <translation>进行中</translation>
    </message>
    <message>
        <source>waiting for you</source>
        <translation>等待你处理</translation>
    </message>
    <message>
        <source>start</source>
        <translation>开始</translation>
    </message>
    <message>
        <source>prompt</source>
        <translation>提示</translation>
    </message>
    <message>
        <source>reply</source>
        <translation>回复</translation>
    </message>
    <message>
        <source>step</source>
        <translation>步骤</translation>
    </message>
    <message>
        <source>compaction</source>
        <translation>压缩</translation>
    </message>
    <message>
        <source>branch summary</source>
        <translation>分支摘要</translation>
    </message>
    <message>
        <source>saved before a jump</source>
        <translation>跳转前保存</translation>
    </message>
    <message>
        <source>files changed from outside</source>
        <translation>文件在外部被更改</translation>
    </message>
    <message>
        <source>context edit</source>
        <translation>上下文编辑</translation>
    </message>
    <message>
        <source>note of another agent</source>
        <translation>其他智能体的记录</translation>
    </message>
    <message>
        <source>unknown</source>
        <translation>未知</translation>
    </message>
    <message>
        <source>thinking…</source>
        <translation>正在思考…</translation>
    </message>
    <message>
        <source>To the model: {note}</source>
        <translation>告知模型：{note}</translation>
    </message>
    <message>
        <source>{n} failed</source>
        <translation>{n} 项失败</translation>
    </message>
    <message>
        <source>{n} passed</source>
        <translation>{n} 项通过</translation>
    </message>
    <message>
        <source>did something outside, which was countered</source>
        <translation>在外部做了某事，已抵消</translation>
    </message>
    <message>
        <source>Start of the session</source>
        <translation>会话开始</translation>
    </message>
    <message>
        <source>not there</source>
        <translation>不存在</translation>
    </message>
    <message>
        <source>no match</source>
        <translation>无匹配</translation>
    </message>
    <message>
        <source>file has changed</source>
        <translation>文件已变化</translation>
    </message>
    <message>
        <source>wrong arguments</source>
        <translation>参数有误</translation>
    </message>
    <message>
        <source>no such tool</source>
        <translation>没有此工具</translation>
    </message>
    <message>
        <source>kept in by the sandbox</source>
        <translation>被沙盒阻止</translation>
    </message>
    <message>
        <source>no answer</source>
        <translation>无答复</translation>
    </message>
    <message>
        <source>no connection</source>
        <translation>无连接</translation>
    </message>
    <message>
        <source>did something that cannot be undone</source>
        <translation>做了无法撤销的事</translation>
    </message>
    <message>
        <source>answered by another model</source>
        <translation>由其他模型作答</translation>
    </message>
    <message>
        <source>repaired</source>
        <translation>已修复</translation>
    </message>
    <message>
        <source>tried more than once</source>
        <translation>尝试了多次</translation>
    </message>
    <message>
        <source>files not captured</source>
        <translation>文件未保存</translation>
    </message>
    <message>
        <source>some files not captured</source>
        <translation>部分文件未保存</translation>
    </message>
    <message>
        <source>checks passed</source>
        <translation>检查通过</translation>
    </message>
    <message>
        <source>checks failed</source>
        <translation>检查失败</translation>
    </message>
    <message>
        <source>changed a file that runs later</source>
        <translation>更改了稍后会运行的文件</translation>
    </message>
    <message>
        <source>cut off</source>
        <translation>被截断</translation>
    </message>
    <message>
        <source>its place is a guess</source>
        <translation>位置是推测的</translation>
    </message>
    <message>
        <source>a secret was masked</source>
        <translation>已遮盖机密</translation>
    </message>
    <message>
        <source>a step of a sub-agent</source>
        <translation>子智能体的一步</translation>
    </message>
    <message>
        <source>{n} steps</source>
        <translation>{n} 个步骤</translation>
    </message>
    <message>
        <source>just now</source>
        <translation>刚刚</translation>
    </message>
    <message>
        <source>{n} min ago</source>
        <translation>{n} 分钟前</translation>
    </message>
    <message>
        <source>{n} h ago</source>
        <translation>{n} 小时前</translation>
    </message>
    <message>
        <source>{n} s</source>
        <translation>{n} 秒</translation>
    </message>
    <message>
        <source>{a} lines added, {r} removed</source>
        <translation>新增 {a} 行，删除 {r} 行</translation>
    </message>
    <message>
        <source>the run ended here: {why}</source>
        <translation>运行在此结束：{why}</translation>
    </message>
    <message>
        <source>label {text}</source>
        <translation>标签 {text}</translation>
    </message>
    <message>
        <source>{n} branches start here</source>
        <translation>从这里分出 {n} 个分支</translation>
    </message>
</context>
<context>
    <name>window</name>
    <message numerus="yes">
        <source>The files of %n step(s) are older than you want to keep.</source>
        <translation>
            <numerusform>%n 个步骤的文件已超过你希望保留的时间。</numerusform>
        </translation>
    </message>
    <message>
        <source>Look…</source>
        <translation>查看…</translation>
    </message>
    <message>
        <source>Return to {branch}…</source>
        <translation>返回 {branch}…</translation>
    </message>
    <message>
        <source>Return to my branch…</source>
        <translation>返回我的分支…</translation>
    </message>
    <message>
        <source>The agent works on the branch {own}. {home} stays where it is, and your files are untouched.</source>
        <translation>智能体在分支 {own} 上工作。{home} 保持不动，你的文件未被触碰。</translation>
    </message>
</context>
</TS>
