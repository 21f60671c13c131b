"""Start of a confined command, inside the sandbox: apply what was asked for, hand file descriptors out, exec.

    python3 -I -S launch.py SPEC_FD

SPEC_FD is the read end of a pipe with a marshalled dict: {"argv", "control": fd, "proxy_env": [names],
"writes": [paths] (empty: no rule about them), "landlock": {"writable", "ports"} | None, "hardening": bytes (empty: it is in place already), "observer": bytes, "observe": bool, "processes": int}. On the control
socket one marshalled dict says what is really enforced, with the descriptors as ancillary data.
"""

import marshal
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def main() -> None:
    with os.fdopen(int(sys.argv[1]), "rb") as pipe:
        spec = marshal.load(pipe)
    import _socket as socket

    said: dict[str, object] = {}
    descriptors: list[int] = []
    names: list[str] = []
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, spec["control"])
    try:
        import resource

        # The user namespace counts its own processes, so a fork bomb stops here and nowhere else.
        hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        wanted = spec["processes"]
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        if limit:
            resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
        try:
            with open("/proc/self/oom_score_adj", "w") as file:
                file.write("900")
        except OSError:
            said["oom"] = False
        if spec["proxy_env"]:
            # Any free port: other commands of the session are on this loopback too, each with a proxy of its own.
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            listener.bind(("127.0.0.1", 0))
            listener.listen(128)
            address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            for name in spec["proxy_env"]:
                os.environ[name] = address
            descriptors.append(listener.detach())
            names.append("proxy")
        if spec["landlock"] is not None:
            import landlock  # type: ignore[import-not-found]

            said["landlock"] = landlock.apply(spec["landlock"]["writable"], spec["landlock"]["ports"])
        if spec["writes"]:
            import writes  # type: ignore[import-not-found]

            said["writes"] = writes.only_below(spec["writes"])
        import seccomp  # type: ignore[import-not-found]

        if spec["hardening"]:
            seccomp.install(spec["hardening"])
        if spec["observe"]:
            # Every filter is asked and the strictest answer wins, so a refusal above is never softened.
            try:
                descriptors.append(seccomp.install(spec["observer"], listener=True))
                names.append("notify")
            except OSError as error:
                said["observer"] = str(error)
    except Exception as error:  # noqa: BLE001  told to the parent: the command must not run half confined
        control.sendmsg([marshal.dumps({"failed": f"{type(error).__name__}: {error}", "names": []})])
        os._exit(125)
    said["names"] = names
    rights = (
        [(socket.SOL_SOCKET, socket.SCM_RIGHTS, b"".join(d.to_bytes(4, sys.byteorder) for d in descriptors))]
        if descriptors
        else []
    )
    control.sendmsg([marshal.dumps(said)], rights)
    control.close()
    for descriptor in descriptors:
        os.close(descriptor)
    os.execvp(spec["argv"][0], spec["argv"])


if __name__ == "__main__":
    main()
