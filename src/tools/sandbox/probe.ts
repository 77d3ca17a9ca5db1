/**
 * Runs bubblewrap to find out whether commands can be sandboxed on this machine and, if not, why and what to do about it.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { isWithin } from "../files/root.js";

export type Bubblewrap = {
  /** The absolute path. */
  readonly path: string;
  /** The version, such as `0.8.0`. */
  readonly version: string;
  /** Whether bubblewrap can forbid user namespaces (0.8 and later). Otherwise, the system call filter forbids them. */
  readonly closesNamespaces: boolean;
};

export type SandboxProbe =
  | { readonly bubblewrap: Bubblewrap }
  | {
      readonly bubblewrap: null;
      /** The reason as part of a sentence: "bubblewrap is not installed". */
      readonly reason: string;
      /** What a person can do about it, in a sentence; may be empty. */
      readonly advice: string;
    };

/** The parts of a machine that the probe reads, so that tests can replace them. */
export type ProbedSystem = {
  readonly platform: NodeJS.Platform;
  /** Null if the file is missing or cannot be read. */
  readonly read: (path: string) => string | null;
  readonly exists: (path: string) => boolean;
};

const thisSystem: ProbedSystem = {
  platform: process.platform,
  read(path) {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return null;
    }
  },
  exists: existsSync,
};

/** Options that use every namespace of a command. */
const trial = [
  ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc"],
  ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"],
  ["--die-with-parent", "--new-session", "--cap-drop", "ALL"],
].flat();

const probeTimeoutMs = 5_000;
const known = new Map<string, SandboxProbe>();

/** @param avoid folders whose programs are not trusted, because commands can write them */
export function probeSandbox(avoid: readonly string[] = [], system: ProbedSystem = thisSystem): SandboxProbe {
  if (system.platform !== "linux") return { bubblewrap: null, ...describeOtherPlatform(system.platform) };
  const path = findSystemProgram("bwrap", avoid);
  if (path === null)
    return { bubblewrap: null, reason: "bubblewrap is not installed", advice: createInstallAdvice(system) };
  const probe = known.get(path) ?? runProbe(path, system);
  known.set(path, probe);
  return probe;
}

/** Why macOS has no sandbox: docs/decisions/0145. */
function describeOtherPlatform(platform: NodeJS.Platform): { readonly reason: string; readonly advice: string } {
  const names: { readonly [Platform in NodeJS.Platform]?: string } = { darwin: "macOS", win32: "Windows" };
  return {
    reason: `there is no sandbox for ${names[platform] ?? platform} yet`,
    advice:
      platform === "win32"
        ? "In WSL 2, with bubblewrap, commands are sandboxed."
        : "In a Linux virtual machine or dev container, commands can be sandboxed, or are at least separated from your files.",
  };
}

function runProbe(path: string, system: ProbedSystem): SandboxProbe {
  const run = (options: readonly string[]) =>
    spawnSync(path, options, { encoding: "utf8", timeout: probeTimeoutMs, stdio: ["ignore", "pipe", "pipe"] });
  const version = /(\d+(?:\.\d+)+)/.exec(run(["--version"]).stdout ?? "")?.[1] ?? "unknown";
  if (run([...trial, "--disable-userns", "--", "true"]).status === 0)
    return { bubblewrap: { path, version, closesNamespaces: true } };
  const { status, stderr, error } = run([...trial, "--", "true"]);
  if (status === 0) return { bubblewrap: { path, version, closesNamespaces: false } };
  const said = (stderr ?? "").trim().split("\n").at(-1) ?? "";
  const line = said === "" ? (error?.message ?? `it ended with exit code ${status}`) : said.replace(/^bwrap: /, "");
  return {
    bubblewrap: null,
    reason: `bubblewrap ${version} fails: ${line.slice(0, 300).replace(/\.$/, "")}`,
    advice: createNamespaceAdvice(system),
  };
}

/** Install commands, by the `ID` or `ID_LIKE` of a distribution (os-release). */
const installers: { readonly [id: string]: string } = {
  debian: "apt install bubblewrap socat",
  ubuntu: "apt install bubblewrap socat",
  fedora: "dnf install bubblewrap socat",
  rhel: "dnf install bubblewrap socat",
  suse: "zypper install bubblewrap socat",
  opensuse: "zypper install bubblewrap socat",
  arch: "pacman -S bubblewrap socat",
  alpine: "apk add bubblewrap socat",
};

function createInstallAdvice({ read }: ProbedSystem): string {
  const release = read("/etc/os-release") ?? "";
  const field = (name: string) => new RegExp(`^${name}="?([^"\n]*)"?$`, "m").exec(release)?.[1] ?? "";
  const ids = [field("ID"), ...field("ID_LIKE").split(" ")];
  const command = ids.map((id) => (Object.hasOwn(installers, id) ? installers[id] : undefined)).find(Boolean);
  return command === undefined ? "Install the packages bubblewrap and socat." : `To install it: ${command}`;
}

/** The likely reason why the system does not let bubblewrap create namespaces, with the remedy. */
function createNamespaceAdvice({ read, exists }: ProbedSystem): string {
  const setting = (path: string) => read(`/proc/sys/${path}`)?.trim();
  if (exists("/.dockerenv") || exists("/run/.containerenv"))
    return "This is a container: start it with --security-opt seccomp=unconfined --security-opt systempaths=unconfined (and apparmor=unconfined where AppArmor is on), or let the container be the sandbox.";
  if (setting("kernel/apparmor_restrict_unprivileged_userns") === "1")
    return "AppArmor does not let programs create user namespaces without a profile: install the package apparmor-profiles, and run: sudo ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo systemctl reload apparmor";
  if (setting("kernel/unprivileged_userns_clone") === "0")
    return "User namespaces are off: sudo sysctl -w kernel.unprivileged_userns_clone=1";
  if (setting("user/max_user_namespaces") === "0")
    return "User namespaces are off: sudo sysctl -w user.max_user_namespaces=15000";
  return "";
}

/**
 * Finds a program that Pawl runs outside of the sandbox; null if there is none. `npx` and `npm run` put `node_modules/.bin` into
 * PATH, where a command may have planted a program with the same name.
 */
export function findSystemProgram(
  name: string,
  avoid: readonly string[],
  path = process.env.PATH ?? "",
): string | null {
  const usual = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"];
  const folders = [...path.split(delimiter).filter(isAbsolute), ...usual];
  for (const folder of folders) {
    const program = join(folder, name);
    try {
      accessSync(program, constants.X_OK);
      if (!statSync(program).isFile()) continue;
      const paths = [program, realpathSync(program)];
      if (!paths.some((candidate) => avoid.some((one) => isWithin(one, candidate)))) return program;
    } catch {
      // The next folder may contain the program.
    }
  }
  return null;
}
