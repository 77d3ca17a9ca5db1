/**
 * A person's machine with canaries, for attacks on the sandbox: a home with secrets, a folder with a repository, processes, sockets
 * and servers of the host.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { networkInterfaces } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { personalFiles } from "./attacks.js";

const fixture = fileURLToPath(new URL("../../fixtures/run-in-sandbox.mjs", import.meta.url));
/** A user without rights. */
export const nobody = 65_534;

/** Whether a user can read this checkout, which may be in a folder of root's. Needs root. */
export function canRead(uid: number): boolean {
  const { status } = spawnSync("setpriv", [
    "--reuid",
    String(uid),
    "--regid",
    String(uid),
    "--clear-groups",
    "cat",
    fixture,
  ]);
  return status === 0;
}

export type AttackWorld = {
  readonly base: string;
  readonly home: string;
  readonly root: string;
  /** What attacks know of the machine. */
  readonly variables: Readonly<Record<string, string>>;
  /** Runs commands in one sandbox, as the user of this world. */
  readonly run: (job: Job) => Promise<readonly string[]>;
  /** Everything that attacks must leave as it is, with its content. */
  readonly fingerprint: () => string;
};

export type Job = {
  readonly commands: readonly (string | { readonly command: string; readonly hosts?: readonly string[] })[];
  readonly without?: string;
  readonly hide?: readonly string[];
  readonly sandbox?: object;
};

/** A text that nobody finds by chance. */
export const canary = (name: string) => `CANARY-${name}-${randomBytes(6).toString("hex")}`;

/** @param uid the user to whom everything belongs; another one than that of the tests needs root */
export async function createAttackWorld(uid: number): Promise<AttackWorld> {
  const base = realpathSync(mkdtempSync("/var/tmp/pawl-attacks-"));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [home, root, outside] = [join(base, "home"), join(base, "home/work/project"), join(base, "outside")];
  write(home, Object.fromEntries(personalFiles.map((path) => [path, `${canary("file")}\n`])));
  write(outside, { secret: canary("outside") });
  write(home, { ".cargo/bin/tool": "#!/bin/sh\necho the tool runs\n", ".bashrc": "# mine\n" });
  chmodSync(join(home, ".cargo/bin/tool"), 0o755);
  createProject(root);
  symlinkSync(join(home, ".ssh"), join(root, "keys"));
  const hostTmp = `/tmp/pawl-attack-${randomBytes(6).toString("hex")}`;
  const shm = `/dev/shm/${hostTmp.slice(5)}`;
  for (const path of [hostTmp, shm]) {
    writeFileSync(path, canary("temporary"));
    onTestFinished(() => rmSync(path, { force: true }));
  }
  // Git of another user's repository is refused, as it should be.
  execFileSync("chown", ["-R", `${uid}:${uid}`, base, hostTmp, shm]);
  chmodSync(base, 0o755);
  const servers = await startServers(home, hostTmp, uid);
  // Opened by processes that commands must not reach.
  writeFileSync(join(base, "open"), canary("descriptor"));
  const foreign = startForeign(base, uid);
  const variables = {
    ...servers,
    HOME_OF_PERSON: home,
    ROOT: root,
    OUTSIDE: outside,
    HOST_TMP: hostTmp,
    SHM: shm.slice("/dev/shm/".length),
    FOREIGN: String(foreign.pid),
    SEGMENT: createSegment(uid),
    ADDRESS:
      Object.values(networkInterfaces())
        .flat()
        .find((one) => one?.internal === false && one.family === "IPv4")?.address ?? "192.0.2.1",
  };
  return {
    base,
    home,
    root,
    variables,
    run: (job) => runJob({ home, root, uid }, job, canary("environment")),
    fingerprint: () => fingerprint(base, [join(home, ".cache/pawl")]),
  };
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}

function createProject(root: string): void {
  const git = (folder: string, ...args: readonly string[]) =>
    execFileSync(
      "git",
      [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "protocol.file.allow=always",
        "-c",
        "init.defaultBranch=main",
        "-C",
        folder,
        ...args,
      ],
      { stdio: "ignore" },
    );
  write(root, {
    "readme.md": "hello\n",
    ".envrc": "true\n",
    ".mcp.json": '{ "mcpServers": {} }\n',
    "pawl.config.json": "{}\n",
    ".pawl/skills/a.md": "a\n",
    ".vscode/settings.json": "{}\n",
    ".husky/pre-push": "true\n",
    "tools/hooks/pre-push": "true\n",
    ".gitignore": ".env\ndeep\nkeys\nvendor\n",
  });
  write(root, { ".env": `${canary("hidden")}\n`, "deep/er/secret.env": `${canary("hidden")}\n` });
  const other = join(dirname(root), "library");
  write(other, { "a.txt": "a\n" });
  for (const folder of [other, root]) {
    git(folder, "init", "-q");
    git(folder, "add", ".");
    git(folder, "commit", "-qm", "first");
  }
  const embedded = join(root, "vendor/lib");
  write(embedded, { "a.txt": "a\n" });
  git(embedded, "init", "-q");
  git(root, "worktree", "add", "-q", join(dirname(root), "side"));
  git(root, "submodule", "add", "-q", other, "sub");
  git(root, "commit", "-qm", "sub");
  git(root, "config", "core.hooksPath", "tools/hooks");
}

/** Servers of the host, each of which answers with a canary; and one that commands may reach. */
async function startServers(home: string, hostTmp: string, uid: number) {
  const secret = canary("server");
  const answering = createServer((_request, response) => response.end(secret));
  answering.listen(0, "::");
  const port = await portOf(answering);
  const allowed = createServer((request, response) => {
    if (request.url === "/redirect") response.writeHead(302, { location: `http://127.0.0.1:${port}/` });
    response.end(request.url === "/host" ? request.headers.host : "allowed");
  });
  allowed.listen(0, "127.0.0.2");
  const allowedPort = await portOf(allowed);
  const datagrams = createSocket("udp4", (_message, { port: to, address }) => datagrams.send(secret, to, address));
  datagrams.bind(0, "127.0.0.1");
  await once(datagrams, "listening");
  const socket = `${hostTmp}.sock`;
  const named = [join(home, ".ssh/agent.sock"), socket];
  const listeners = [...named, `\0pawl-attack-${process.pid}`].map((path) =>
    createSocketServer((client) => client.end(secret)).listen(path),
  );
  await Promise.all(listeners.map((one) => one.listening || once(one, "listening")));
  execFileSync("chown", [`${uid}:${uid}`, ...named]);
  onTestFinished(() => {
    for (const each of [answering, allowed, ...listeners]) each.close();
    for (const each of [answering, allowed]) each.closeAllConnections();
    datagrams.close();
    rmSync(socket, { force: true });
  });
  return {
    PORT: String(port),
    ALLOWED: String(allowedPort),
    UDP: String(datagrams.address().port),
    ABSTRACT: `pawl-attack-${process.pid}`,
    HOST_SOCKET: socket,
  };
}

async function portOf(server: Server): Promise<number> {
  if (!server.listening) await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A process of the same person with secrets in its environment, its arguments and an open file. */
function startForeign(base: string, uid: number): ChildProcess {
  const fd = openSync(join(base, "open"), "r");
  const child = spawn("sleep", ["1000"], {
    argv0: canary("argument"),
    env: { SECRET: canary("environment") },
    stdio: ["ignore", "ignore", "ignore", "ignore", "ignore", "ignore", "ignore", fd],
    cwd: join(base, "home"),
    ...(process.getuid?.() === 0 ? { uid, gid: uid } : {}),
  });
  closeSync(fd);
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

function createSegment(uid: number): string {
  const code = `
import ctypes, sys
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
segment = libc.shmget(0, 4096, 0o1666)
ctypes.memmove(libc.shmat(segment, None, 0), b"${canary("segment")}", 40)
print(segment)`;
  const id = execFileSync("python3", ["-c", code], {
    encoding: "utf8",
    ...(process.getuid?.() === 0 ? { uid, gid: uid } : {}),
    cwd: "/",
  }).trim();
  onTestFinished(() => void execFileSync("ipcrm", ["-m", id]));
  return id;
}

async function runJob(
  { home, root, uid }: { readonly home: string; readonly root: string; readonly uid: number },
  { commands, without = "nothing", hide = [], sandbox = {} }: Job,
  secret: string,
): Promise<readonly string[]> {
  const fd = openSync(join(dirname(home), "open"), "r");
  const command = [process.execPath, fixture];
  const isOther = process.getuid?.() !== uid;
  const [program = "", ...args] = isOther
    ? ["setpriv", "--reuid", String(uid), "--regid", String(uid), "--clear-groups", ...command]
    : command;
  const child = spawn(program, args, {
    cwd: "/",
    env: {
      PATH: `${join(home, ".cargo/bin")}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`,
      HOME: home,
      SECRET: secret,
      OPENAI_API_KEY: secret,
      SSH_AUTH_SOCK: join(home, ".ssh/agent.sock"),
      PAWL_HOME: join(home, ".local/share/pawl"),
    },
    stdio: ["pipe", "pipe", "pipe", "ignore", "ignore", "ignore", "ignore", fd],
  });
  closeSync(fd);
  let [out, errors] = ["", ""];
  child.stdout?.on("data", (bytes) => {
    out += bytes;
  });
  child.stderr?.on("data", (bytes) => {
    errors += bytes;
  });
  child.stdin?.end(JSON.stringify({ root, home, commands, without, hide, sandbox }));
  await once(child, "close");
  if (out === "") throw new Error(`The commands could not be run: ${errors}`);
  return (JSON.parse(out) as { readonly results: readonly string[] }).results;
}

/** Each file and link below a folder, with its content. */
function fingerprint(folder: string, omitted: readonly string[]): string {
  const lines = readdirSync(folder).flatMap((name): readonly string[] => {
    const path = join(folder, name);
    if (omitted.includes(path)) return [];
    const found = lstatSync(path);
    if (found.isDirectory()) return [path, fingerprint(path, omitted)];
    if (found.isSymbolicLink()) return [`${path} -> ${readlinkSync(path)}`];
    const content = found.isFile() ? createHash("sha256").update(readFileSync(path)).digest("hex") : "";
    return [`${path} ${found.mode} ${content}`];
  });
  return lines.join("\n");
}
