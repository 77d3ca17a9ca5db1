/**
 * Attacks on the sandbox of commands. Each tries to read a canary or to do something, and prints `ESCAPED` if it did what cannot be
 * seen by a canary. `needs` names the part of the sandbox that holds it: without that part, the attack succeeds.
 *
 * The variables that a line has: HOME_OF_PERSON, ROOT, PORT (a server of the host with a canary), UDP, ALLOWED (the port of the only
 * allowed host, 127.0.0.2), PAWL (the process id of the program that runs the command), ABSTRACT (a socket without a name in the file system), FOREIGN
 * (the process id of another process of the person), SEGMENT (a shared memory segment), ADDRESS (another address of this machine).
 */
export type Attack = {
  readonly title: string;
  readonly line: string;
  /** The part of the sandbox without which it succeeds; null: several hold it, or the machine itself. */
  readonly needs: string | null;
  /** It can succeed only if commands run as root, or only if they do not. */
  readonly only?: "root" | "user";
};

const personal = (path: string): Attack => ({
  title: `reads ~/${path}`,
  line: `cat "$HOME_OF_PERSON/${path}"`,
  needs: "home",
});

/** Files of the home with canaries. */
export const personalFiles = [
  ".ssh/id_ed25519",
  ".ssh/config",
  ".aws/credentials",
  ".config/gh/hosts.yml",
  ".config/gcloud/credentials.db",
  ".config/rclone/rclone.conf",
  ".netrc",
  ".npmrc",
  ".pypirc",
  ".docker/config.json",
  ".kube/config",
  ".git-credentials",
  ".gitconfig",
  ".bash_history",
  ".pgpass",
  ".vault-token",
  ".gnupg/private-keys-v1.d/key",
  ".password-store/bank.gpg",
  ".local/share/keyrings/login.keyring",
  ".config/google-chrome/Default/Cookies",
  ".mozilla/firefox/profile/logins.json",
  ".local/share/pawl/sessions.db",
  ".config/pawl/mcp.json",
  ".config/pawl/permissions.json",
  ".cargo/credentials.toml",
  ".unlisted-tool/token",
  "Documents/taxes.txt",
  "other-project/.env",
  ".cache/pawl/homes/other/.npmrc",
] as const;

const python = (code: string) =>
  `python3 - <<'PYTHON'\nimport os, socket, ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n${code}\nPYTHON`;

/** Without a namespace of processes, that of users still holds what asks for the rights of a debugger: so these need no part alone. */
const reading: readonly Attack[] = [
  ...personalFiles.map(personal),
  { title: "lists the home", line: 'ls -la "$HOME_OF_PERSON" | grep unlisted-tool && echo ESCAPED', needs: "home" },
  {
    title: "searches the home for canaries",
    line: 'timeout 20 grep -rIls CANARY "$HOME_OF_PERSON" | head -3 | xargs -r cat',
    needs: "home",
  },
  { title: "follows a link of the folder out of it", line: "cat keys/id_ed25519", needs: "home" },
  { title: "reads through /proc/1/root", line: 'cat "/proc/1/root$HOME_OF_PERSON/.ssh/id_ed25519"', needs: "home" },
  {
    title: "reads through /proc/self/root",
    line: 'cat "/proc/self/root$HOME_OF_PERSON/.ssh/id_ed25519"',
    needs: "home",
  },
  {
    title: "reads through the working folder of another process",
    line: 'for cwd in /proc/[0-9]*/cwd; do cat "$cwd/../../.ssh/id_ed25519" "$cwd/.ssh/id_ed25519"; done',
    needs: "home",
  },
  {
    title: "reads another folder of the machine",
    line: 'cat /srv-of-others/secret "$OUTSIDE/secret"',
    needs: "system",
  },
  { title: "reads a file in the host's /tmp", line: 'cat "$HOST_TMP"', needs: "tmp" },
  { title: "reads the host's shared memory", line: 'cat "/dev/shm/$SHM"', needs: "devices" },
  {
    title: "reads a disk",
    line: "for disk in /dev/[hsv]d[a-z] /dev/nvme*n1; do head -c 1 $disk && echo ESCAPED; done",
    needs: null,
    only: "root",
  },
  {
    title: "reads the passwords of the system",
    line: "grep -q : /etc/shadow && echo ESCAPED",
    needs: "masks",
    only: "root",
  },
  { title: "reads what is hidden", line: "cat .env", needs: "hidden" },
  { title: "reads what is hidden in a folder", line: "cat deep/er/secret.env", needs: "hidden" },
  {
    title: "links what is hidden, and reads the link",
    line: "ln .env linked; cat linked; rm -f linked",
    needs: "hidden",
  },
  {
    title: "moves what is hidden away, and reads it",
    line: "mv .env moved && cat moved; mv moved .env",
    needs: "hidden",
  },
  {
    title: "moves the folder of what is hidden away",
    line: "mv deep away && echo ESCAPED; mv away deep",
    needs: "held",
  },
  {
    title: "reads hidden text through Git",
    line: "git show HEAD:.never-committed; git diff --no-index /dev/null .env",
    needs: "hidden",
  },
  { title: "reads the environment of Pawl", line: 'tr "\\0" "\\n" < "/proc/$PAWL/environ"', needs: null },
  { title: "reads the environment of another process", line: 'tr "\\0" "\\n" < "/proc/$FOREIGN/environ"', needs: null },
  {
    title: "reads the command line of another process",
    line: 'tr "\\0" " " < "/proc/$FOREIGN/cmdline"',
    needs: "processes",
  },
  { title: "searches all environments", line: 'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep CANARY', needs: null },
  { title: "has a secret in its own environment", line: "env", needs: null },
  {
    title: "inherits an open file",
    line: "for fd in $(ls /proc/self/fd); do [ $fd -gt 3 ] && timeout 1 cat <&$fd; done",
    needs: null,
  },
  {
    title: "reads the open files of other processes",
    line: 'cat "/proc/$FOREIGN/fd/7" "/proc/$PAWL/fd/7"',
    needs: null,
  },
  {
    title: "reads the memory of another process",
    line: python(`
pid = int(os.environ["FOREIGN"])
for line in open(f"/proc/{pid}/maps"):
    if "[stack]" in line:
        first, last = [int(x, 16) for x in line.split()[0].split("-")]
        memory = open(f"/proc/{pid}/mem", "rb"); memory.seek(first)
        data = memory.read(last - first); at = data.find(b"CANARY")
        print(data[at:at + 80])`),
    needs: null,
  },
];

const sockets: readonly Attack[] = [
  {
    title: "talks to the agent of SSH",
    line: 'timeout 3 socat - "UNIX-CONNECT:$HOME_OF_PERSON/.ssh/agent.sock" </dev/null',
    needs: "home",
  },
  {
    title: "finds the agent of SSH by its variable",
    line: 'timeout 3 socat - "UNIX-CONNECT:$SSH_AUTH_SOCK" </dev/null',
    needs: null,
  },
  {
    title: "talks to a socket in /tmp",
    line: 'timeout 3 socat - "UNIX-CONNECT:$HOST_SOCKET" </dev/null',
    needs: "tmp",
  },
  {
    title: "talks to a socket without a name",
    line: 'for tight in 0 1; do timeout 3 socat - "ABSTRACT-CONNECT:$ABSTRACT,unix-tightsocklen=$tight" </dev/null; done',
    needs: "network",
  },
  {
    title: "talks to sockets of the system",
    line: "for each in /run/docker.sock /var/run/docker.sock /run/dbus/system_bus_socket /run/containerd/containerd.sock /run/user/*/bus; do [ -S $each ] && echo ESCAPED; done; true",
    needs: null,
  },
  {
    title: "talks to the hypervisor",
    line: python(`
try:
    socket.socket(40, socket.SOCK_STREAM); print("ESCAPED")
except OSError as error: print(error)`),
    needs: "filter",
  },
  ...(
    [
      ["the kernel's cryptography", 38],
      ["Bluetooth", 31],
      ["CAN buses", 29],
    ] as const
  ).map(
    ([what, family]): Attack => ({
      title: `opens a socket of ${what}`,
      line: python(`
try:
    socket.socket(${family}, ${family === 38 ? "socket.SOCK_SEQPACKET" : "socket.SOCK_RAW"}); print("ESCAPED")
except OSError as error: print(error)`),
      needs: null,
    }),
  ),
  {
    title: "opens a raw socket",
    line: python(`
for family in (2, 17):
    try:
        socket.socket(family, socket.SOCK_RAW, 1); print("ESCAPED")
    except OSError as error: print(error)`),
    needs: null,
  },
  {
    title: "reads a shared memory segment of System V",
    line: python(`
libc.shmat.restype = ctypes.c_void_p
at = libc.shmat(int(os.environ["SEGMENT"]), None, 0o10000)
print(ctypes.string_at(at, 80) if at and at != ctypes.c_void_p(-1).value else "none")`),
    needs: "ipc",
  },
];

const network: readonly Attack[] = [
  ...[
    "127.0.0.1",
    "localhost",
    "127.1",
    "0.0.0.0",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "$ADDRESS",
  ].map(
    (host): Attack => ({
      title: `connects to the host at ${host}, without the proxy`,
      line: `curl -gsS --noproxy '*' -m 3 "http://${host}:$PORT/"`,
      needs: "network",
    }),
  ),
  ...[
    "127.0.0.1",
    "localhost",
    "localhost.",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "127.0.0.2",
    "127.0.0.2.",
    "user@127.0.0.1",
    "127.0.0.2@127.0.0.1",
    "%31%32%37.0.0.1",
    "127。0。0。1",
    "ip6-localhost",
    "$ADDRESS",
  ].flatMap((host): readonly Attack[] => [
    {
      title: `asks the proxy for ${host}`,
      line: `curl -gsS --noproxy '' -m 5 "http://${host}:$PORT/"`,
      needs: null,
    },
    {
      title: `asks the proxy for a tunnel to ${host}`,
      line: `curl -gsS --noproxy '' -p -m 5 "http://${host}:$PORT/"`,
      needs: null,
    },
  ]),
  {
    title: "asks the proxy for metadata of a cloud",
    line: "curl -sS -m 5 http://169.254.169.254/latest/ | grep -v refuses && echo ESCAPED",
    needs: null,
  },
  {
    title: "asks the proxy for an unlisted host",
    line: "curl -sS -m 5 http://attacker.test/ | grep -v refuses && echo ESCAPED",
    needs: null,
  },
  {
    title: "asks the proxy for another port of the allowed host",
    line: `curl -sS --noproxy '' -p -m 5 "http://127.0.0.2:$PORT/"`,
    needs: null,
  },
  {
    title: "names another host in the Host header",
    line: `curl -sS --noproxy '' -m 5 -H "Host: 127.0.0.1:$PORT" "http://127.0.0.2:$ALLOWED/host" | grep "127.0.0.1:$PORT" && echo ESCAPED`,
    needs: null,
  },
  {
    title: "follows a redirect to an unlisted host",
    line: `curl -sSL --noproxy '' -m 5 "http://127.0.0.2:$ALLOWED/redirect"`,
    needs: null,
  },
  {
    title: "smuggles a second request behind the first",
    line: `printf 'POST http://127.0.0.2:%s/ HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET http://127.0.0.1:%s/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' $ALLOWED $PORT | timeout 3 socat - TCP:127.0.0.1:3128`,
    needs: null,
  },
  {
    title: "pipelines a request to an unlisted host",
    line: `printf 'GET http://127.0.0.2:%s/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\nGET http://127.0.0.1:%s/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' $ALLOWED $PORT | timeout 3 socat - TCP:127.0.0.1:3128`,
    needs: null,
  },
  {
    title: "ends the name of a tunnel early",
    line: `printf 'CONNECT 127.0.0.1:%s\\0.127.0.0.2:%s HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.0\\r\\n\\r\\n' $PORT $ALLOWED | timeout 3 socat - TCP:127.0.0.1:3128`,
    needs: null,
  },
  {
    title: "speaks SOCKS to the proxy",
    line: `curl -sS -m 5 --proxy socks5h://127.0.0.1:3128 "http://127.0.0.1:$PORT/"`,
    needs: null,
  },
  {
    title: "asks without the credentials of a command",
    line: `curl -sS -m 5 --noproxy '' --proxy http://127.0.0.1:3128 "http://127.0.0.1:$PORT/"`,
    needs: null,
  },
  {
    title: "guesses the credentials of another command",
    line: `for n in 1 2 3; do curl -sS -m 5 --noproxy '' --proxy "http://command-$n:0@127.0.0.1:3128" "http://127.0.0.1:$PORT/"; done`,
    needs: null,
  },
  {
    title: "asks for a file through the proxy",
    line: `printf 'GET file:///etc/hostname HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' | timeout 3 socat - TCP:127.0.0.1:3128 | grep "$(cat /etc/hostname)" && echo ESCAPED`,
    needs: null,
  },
  { title: "sends a datagram", line: `echo hello | timeout 2 socat -t1 - "UDP:127.0.0.1:$UDP"`, needs: "network" },
  { title: "asks a name server", line: `timeout 3 getent ahosts example.org && echo ESCAPED`, needs: null },
  { title: "sends a ping", line: "ping -c1 -W1 192.0.2.1 | grep '1 received' && echo ESCAPED", needs: null },
];

const kernel: readonly Attack[] = [
  {
    title: "has a capability",
    line: "grep -E '^Cap(Prm|Eff|Inh|Amb|Bnd):' /proc/self/status | grep -v 0000000000000000 && echo ESCAPED",
    needs: "capabilities",
    only: "root",
  },
  { title: "makes a user namespace", line: "unshare --user true && echo ESCAPED", needs: "namespaces" },
  {
    title: "makes a user namespace by bubblewrap",
    line: "bwrap --unshare-user --ro-bind / / true && echo ESCAPED",
    needs: null,
  },
  { title: "mounts a file system", line: "mkdir -p m; mount -t tmpfs none m && echo ESCAPED; rmdir m", needs: null },
  { title: "unmounts what hides", line: "umount -l .env && cat .env", needs: null },
  { title: "mounts the system writable again", line: "mount -o remount,rw,bind /usr && echo ESCAPED", needs: null },
  { title: "changes its root", line: "chroot / true && echo ESCAPED", needs: null },
  { title: "makes a device", line: "mknod disk b 8 0 && echo ESCAPED; rm -f disk", needs: null },
  {
    title: "gains rights by setuid",
    line: "for each in su sudo mount passwd; do timeout 2 $each --version >/dev/null 2>&1; done; grep -q 'NoNewPrivs:.*1' /proc/self/status || echo ESCAPED",
    needs: null,
  },
  {
    title: "writes a setting of the kernel",
    // It writes what is there, so that nothing changes if it can.
    line: 'now=$(cat /proc/sys/kernel/core_pattern); echo "$now" > /proc/sys/kernel/core_pattern && echo ESCAPED',
    needs: "settings",
    only: "root",
  },
  {
    title: "finds a writable setting of the kernel",
    line: "find /proc /sys -type f -writable -not -path '/proc/[0-9]*' 2>/dev/null | grep . && echo ESCAPED",
    needs: null,
  },
  { title: "reads the kernel's log", line: "dmesg | grep . && echo ESCAPED", needs: null },
  { title: "reads the kernel's memory", line: "head -c 1 /proc/kcore | grep . && echo ESCAPED", needs: null },
  ...(
    [
      ["reads the keyring of the session", 250, "11, 0xfffffffd, 0, 0"],
      ["adds a key", 248, 'b"user", b"pawl", b"x", 1, 0xfffffffe'],
      ["asks for a key", 249, 'b"user", b"pawl", None, 0xfffffffe'],
    ] as const
  ).map(
    ([title, call, rest]): Attack => ({
      title,
      line: python(`
code = libc.syscall(${call}, ${rest}); error = ctypes.get_errno()
print("ESCAPED" if code != -1 or error != 1 else os.strerror(error))`),
      needs: "filter",
    }),
  ),
  ...(
    [
      ["watches the performance of the machine", 298, 1],
      ["loads a program into the kernel", 321, 1],
      ["handles page faults of the kernel", 323, 1],
      ["queues calls past the filter", 425, 38],
    ] as const
  ).map(
    ([title, call, refusal]): Attack => ({
      title,
      line: python(`
code = libc.syscall(${call}, 0, 0, 0, 0, 0); error = ctypes.get_errno()
print("ESCAPED" if code != -1 or error != ${refusal} else os.strerror(error))`),
      // Some kernels refuse it themselves.
      needs: call === 425 ? "filter" : null,
    }),
  ),
  {
    title: "calls the kernel by its other numbers",
    line: python(`
code = libc.syscall(0x40000000 + 39); error = ctypes.get_errno()
print("ESCAPED" if code != -1 or error not in (1, 38) else os.strerror(error))`),
    needs: null,
  },
  {
    title: "types into the terminal",
    line: python(`
import fcntl
for name in ("/dev/tty", "/dev/console"):
    try:
        fcntl.ioctl(os.open(name, os.O_RDWR), 0x5412, b"x"); print("ESCAPED")
    except OSError as error: print(error)`),
    needs: null,
  },
  {
    title: "leads its own session of the terminal",
    line: "test \"$(ps -o sid= -p $$ 2>/dev/null | tr -d ' ')\" = 0 && echo ESCAPED",
    needs: null,
  },
  { title: "signals Pawl", line: 'kill -0 "$PAWL" && echo ESCAPED', needs: "processes" },
  { title: "signals another process", line: 'kill -0 "$FOREIGN" && echo ESCAPED', needs: "processes" },
  {
    title: "traces another process",
    line: python(`
code = libc.ptrace(16, int(os.environ["FOREIGN"]), 0, 0)
if code == 0: print("ESCAPED"); libc.ptrace(17, int(os.environ["FOREIGN"]), 0, 0)`),
    needs: null,
  },
  {
    title: "opens another process by a descriptor",
    line: python(`
fd = libc.syscall(434, int(os.environ["FOREIGN"]), 0)
print("ESCAPED" if fd >= 0 else "no")`),
    needs: "processes",
  },
];

/** What they write is looked for afterwards, on the host. */
const writing: readonly Attack[] = [
  { title: "writes a hook of Git", line: "echo 'echo x' > .git/hooks/pre-commit && echo ESCAPED", needs: "closed" },
  {
    title: "replaces the folder of hooks",
    line: "mv .git/hooks .git/old && mkdir .git/hooks && echo ESCAPED; mv -T .git/old .git/hooks",
    needs: "closed",
  },
  {
    title: "names a program in Git's settings",
    line: "git config core.fsmonitor ./evil && echo ESCAPED; git config --unset core.fsmonitor",
    needs: "closed",
  },
  { title: "moves .git away", line: "mv .git .moved && echo ESCAPED; mv .moved .git", needs: "held" },
  {
    title: "writes the settings of a submodule",
    line: "echo '[core] fsmonitor = ./evil' >> .git/modules/sub/config && echo ESCAPED",
    needs: "closed",
  },
  {
    title: "writes a hook of a submodule",
    line: "echo x > .git/modules/sub/hooks/post-checkout && echo ESCAPED",
    needs: "closed",
  },
  {
    title: "leads a submodule to another repository",
    line: "echo 'gitdir: ../evil' > sub/.git && echo ESCAPED; echo 'gitdir: ../.git/modules/sub' > sub/.git",
    needs: "closed",
  },
  {
    title: "moves the settings of a submodule away",
    line: "mv .git/modules/sub .git/modules/old && echo ESCAPED; mv .git/modules/old .git/modules/sub",
    needs: "held",
  },
  { title: "moves a submodule away", line: "mv sub gone && echo ESCAPED; mv gone sub", needs: "held" },
  {
    title: "moves the folder away in which the settings look for hooks",
    line: "mv tools gone && echo ESCAPED; mv gone tools",
    needs: "held",
  },
  {
    title: "names a program in the settings of a repository below the folder",
    line: "git -C vendor/lib config core.fsmonitor ./evil && echo ESCAPED; git -C vendor/lib config --unset core.fsmonitor",
    needs: "closed",
  },
  {
    title: "writes a hook of a repository below the folder",
    line: "echo x > vendor/lib/.git/hooks/post-checkout && echo ESCAPED",
    needs: "closed",
  },
  {
    title: "moves the .git of a repository below the folder away",
    line: "mv vendor/lib/.git vendor/lib/.old && echo ESCAPED; mv vendor/lib/.old vendor/lib/.git",
    needs: "held",
  },
  {
    title: "moves the folder of a repository below the folder away",
    line: "mv vendor gone && echo ESCAPED; mv gone vendor",
    needs: "held",
  },
  {
    title: "leads a worktree to other settings",
    line: "echo /tmp/evil > .git/worktrees/side/commondir && echo ESCAPED; echo ../.. > .git/worktrees/side/commondir",
    needs: "closed",
  },
  { title: "writes a file that direnv runs", line: "echo evil >> .envrc && echo ESCAPED", needs: "closed" },
  { title: "writes a task of the editor", line: "echo '{}' > .vscode/tasks.json && echo ESCAPED", needs: "closed" },
  {
    title: "replaces the folder of the editor",
    line: "mv .vscode .gone && mkdir .vscode && echo ESCAPED; mv -T .gone .vscode",
    needs: "closed",
  },
  { title: "writes a server of MCP", line: "echo '{}' > .mcp.json && echo ESCAPED", needs: "closed" },
  {
    title: "writes Pawl's settings of the folder",
    line: "echo '{}' > pawl.config.json && echo ESCAPED",
    needs: "closed",
  },
  { title: "writes a skill of Pawl", line: "echo x > .pawl/skills/x.md && echo ESCAPED", needs: "closed" },
  { title: "writes a hook of husky", line: "echo x > .husky/pre-commit && echo ESCAPED", needs: "closed" },
  {
    title: "writes a start file of the shell",
    line: 'mkdir -p "$HOME_OF_PERSON" && echo "echo evil" >> "$HOME_OF_PERSON/.bashrc"',
    needs: null,
  },
  {
    title: "replaces a tool of the person",
    line: 'echo evil > "$HOME_OF_PERSON/.cargo/bin/tool" && echo ESCAPED',
    needs: null,
  },
  {
    title: "removes a tool of the person",
    line: 'rm -f "$HOME_OF_PERSON/.cargo/bin/tool" && echo ESCAPED',
    needs: null,
  },
  { title: "writes to the system", line: "touch /etc/evil /usr/evil /evil && echo ESCAPED", needs: null },
  {
    title: "leaves a job of cron",
    line: "echo evil > /etc/cron.d/evil || echo evil | crontab - && echo ESCAPED",
    needs: null,
  },
  {
    title: "swaps the folder for a link",
    line: "cd .. && mv project gone && ln -s /etc project && echo ESCAPED",
    needs: null,
  },
  { title: "writes next to the folder", line: 'echo evil > ../evil && ls -la "$(dirname "$ROOT")"', needs: null },
];

/** By the words of the table in docs/guide/sandbox.md. */
export const attacksByAim: Readonly<Record<string, readonly Attack[]>> = {
  "files, environments and memory": reading,
  "sockets and shared memory": sockets,
  "hosts and this machine's ports": network,
  "the kernel, other processes and the terminal": kernel,
  "files that other programs run later": writing,
};

export const attacks: readonly Attack[] = Object.values(attacksByAim).flat();
