/**
 * The sandbox on bubblewrap: combines what commands can see, share and reach.
 */
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { PawlError } from "../../errors.js";
import { isWithin } from "../files/root.js";
import { createBubblewrapArguments, type SandboxLayout, systemFolders } from "./bubblewrap-arguments.js";
import { locateCache, locateCommandHome, makeCommandHome } from "./command-home.js";
import type { CommandSandbox, PreparedCommand, PrepareOptions, SandboxOptions } from "./contract.js";
import { copySettings, type SettingsCopies } from "./copied-settings.js";
import { type RepositoryWatch, watchRepositories } from "./embedded-repositories.js";
import { createEnvironment, findCertificates } from "./environment.js";
import { findFolderMounts, watchFolder } from "./folder-mounts.js";
import { type HostPattern, type HostTarget, readHostPattern } from "./hosts.js";
import { addMountCheck } from "./mount-check.js";
import { type Bubblewrap, findSystemProgram } from "./probe.js";
import {
  addBridge,
  findSessionPrograms,
  type SandboxSession,
  type SessionPrograms,
  startLoneProxy,
  startSession,
} from "./session.js";
import { findShownTools, type ShownTools } from "./shown-tools.js";
import { createSyscallFilter } from "./syscalls.js";

type PersonHome = {
  /** As written in the environment. */
  readonly path: string;
  readonly real: string;
};

export function findPersonHome(): PersonHome {
  const path = homedir();
  return { path, real: existsSync(path) ? realpathSync(path) : path };
}

/** @throws PawlError `bad_configuration` */
export function readHost(text: string): HostPattern {
  const pattern = readHostPattern(text);
  if (typeof pattern !== "string") return pattern;
  throw new PawlError("bad_configuration", `Invalid host ${JSON.stringify(text.slice(0, 200))}: ${pattern}.`);
}

/** The parts that do not change during the life of a sandbox. */
type Plan = {
  readonly bubblewrap: Bubblewrap;
  readonly root: string;
  readonly home: PersonHome;
  readonly hosts: readonly HostPattern[];
  readonly addresses: readonly string[];
  readonly tools: ShownTools;
  readonly shown: readonly string[];
  readonly write: readonly string[];
  readonly hide: NonNullable<SandboxOptions["hide"]>;
  /** The folder that contains the homes of commands. */
  readonly cache: string;
  /** The home of this sandbox's commands. */
  readonly commandHome: string;
  /** Folders that commands can write, so programs in them are not trusted outside of the sandbox. */
  readonly avoid: readonly string[];
  readonly programs: SessionPrograms | string;
  readonly socat: string | null;
  readonly stat: string;
  readonly filter: Uint8Array | null;
};

const isOutside = (root: string) => (path: string) =>
  ![root, ...systemFolders].some((folder) => isWithin(folder, path));

function createPlan(options: SandboxOptions, root: string, bubblewrap: Bubblewrap): Plan {
  const { addresses = [], hide = () => [] } = options;
  const home = findPersonHome();
  const toPaths = (paths: readonly string[] = []) =>
    paths.map((path) => (path.startsWith("~/") ? resolve(home.path, path.slice(2)) : resolve(root, path)));
  const tools = findShownTools(home.path, systemFolders, process.env);
  const cache = locateCache(process.env);
  const commandHome = locateCommandHome(cache, root, options.homeName);
  const write = toPaths(options.write)
    .map((path) => realFolder(path, [root, home.real, cache]))
    .filter((path, _at, all) => ![root, ...all].some((other) => other !== path && isWithin(other, path)));
  const named = [...tools.folders, ...toPaths(options.show), ...findCertificates(process.env)];
  const shown = named.filter(isOutside(root));
  const avoid = [root, ...write];
  return {
    bubblewrap,
    root,
    home,
    addresses,
    tools,
    shown,
    write,
    hide,
    cache,
    commandHome,
    avoid,
    hosts: (options.hosts ?? []).map(readHost),
    programs: findSessionPrograms(avoid, [...avoid, ...shown, commandHome]),
    socat: findSystemProgram("socat", avoid),
    stat: findRequiredProgram("stat", avoid),
    filter: createSyscallFilter(!bubblewrap.closesNamespaces),
  };
}

/** @param root its real path */
export function createBubblewrapSandbox(options: SandboxOptions, root: string, bubblewrap: Bubblewrap): CommandSandbox {
  const plan = createPlan(options, root, bubblewrap);
  let session: Promise<SandboxSession> | undefined;
  let settings: SettingsCopies | undefined;
  const repositories = watchRepositories(root);

  /** Commands that start at the same time wait for the same session. */
  async function findSession(): Promise<SandboxSession> {
    const current = session;
    const opened = await current?.catch(() => null);
    if (opened?.hasEnded() === false) return opened;
    if (session === current) {
      session = openSession(plan);
      // The previous session's process has died, so its proxy is useless.
      await opened?.close();
    }
    session ??= openSession(plan);
    return await session;
  }

  return Object.freeze({
    kind: "bubblewrap",
    reason: null,
    advice: "",
    hosts: Object.freeze(plan.hosts.map(({ text }) => text)),
    describe: () => describe(plan),
    async prepare(command, prepareOptions = {}) {
      settings ??= copySettings({ cache: plan.cache, root, home: plan.home.path, avoid: plan.avoid });
      return prepareCommand(command, { plan, settings, repositories, session: await findSession() }, prepareOptions);
    },
    async close() {
      const present = await session?.catch(() => null);
      session = undefined;
      await present?.close();
    },
  } satisfies CommandSandbox);
}

function openSession({ bubblewrap, hosts, addresses, programs }: Plan): Promise<SandboxSession> {
  const proxy = {
    isReachable: (target: HostTarget) => hosts.some(({ allows }) => allows(target)),
    addresses,
    environment: process.env,
  };
  if (typeof programs === "string") return startLoneProxy(proxy);
  return startSession({ ...proxy, bubblewrap }, programs);
}

type Present = {
  readonly plan: Plan;
  readonly settings: SettingsCopies;
  readonly repositories: RepositoryWatch;
  readonly session: SandboxSession;
};

async function prepareCommand(
  command: readonly [string, ...string[]],
  { plan, settings, repositories, session }: Present,
  {
    hosts: further = [],
    decideHost = () => undefined,
    readOnly = false,
    onForbidden = () => {},
    signal,
  }: PrepareOptions,
): Promise<PreparedCommand> {
  const { bubblewrap, root, home, tools, write, cache, commandHome, socat, stat, filter } = plan;
  const listed = [...plan.hosts, ...further.map(readHost)];
  const layout: SandboxLayout = {
    root,
    ownHome: makeCommandHome(commandHome),
    settings: settings.folder,
    shown: [...plan.shown, ...settings.certificates.filter(isOutside(root))],
    write,
    readOnly,
    socket: socat === null ? null : session.socket,
  };
  const hidden = [cache, ...(await plan.hide(signal)).map((path) => resolve(root, path))];
  const present = await repositories.findPresent(signal);
  const folder = await findFolderMounts({ root, home: home.real, write, hidden, repositories: present, signal });
  const seen = await createBubblewrapArguments(layout, folder, session.shared, bubblewrap);
  const grant = session.proxy.grant((target) => {
    const decision = decideHost(target);
    return decision === undefined ? listed.some(({ allows }) => allows(target)) : decision === "allow";
  });
  const watch = watchFolder(root, folder, onForbidden);
  let created: readonly string[] = [];
  const program: readonly string[] = [
    ...session.join,
    bubblewrap.path,
    ...seen,
    ...(filter === null ? [] : ["--seccomp", "3"]),
    "--",
    ...addMountCheck(
      [...folder.writable, ...folder.closed],
      stat,
      layout.socket === null || socat === null ? command : addBridge(socat, command),
    ),
  ];
  return {
    program: program as unknown as readonly [string, ...string[]],
    environment: (base) => createEnvironment(base, tools, layout, grant.credentials),
    // The caller gets a copy, because all commands share the filter.
    filter: filter === null ? null : Uint8Array.from(filter),
    report: () => ({ refusals: grant.refusals(), notes: [...watch.notes(), ...created] }),
    async end() {
      grant.end();
      watch.end();
      created = await repositories.describeNew();
    },
  };
}

/** @param inner folders that the result must not be, or contain, because commands could then move or replace them */
function realFolder(path: string, inner: readonly string[]): string {
  const createError = (why: string, cause?: unknown) =>
    new PawlError("bad_configuration", `Commands cannot get write access to ${path}: ${why}.`, { cause });
  let real: string;
  try {
    real = realpathSync(path);
  } catch (cause) {
    throw createError("there is no such folder", cause);
  }
  const protectedFolder = inner.find((folder) => isWithin(real, folder));
  if (protectedFolder !== undefined)
    throw createError(`it is or contains ${protectedFolder}. Use a folder next to it or below it`);
  return real;
}

function findRequiredProgram(name: string, avoid: readonly string[]): string {
  const path = findSystemProgram(name, avoid);
  if (path === null)
    throw new PawlError("sandbox_missing", `The sandbox needs the program ${name}. Install coreutils.`);
  return path;
}

function describe({ bubblewrap, hosts, shown, write, commandHome, programs }: Plan): readonly string[] {
  const { version, closesNamespaces } = bubblewrap;
  const network =
    typeof programs === "string"
      ? `each command has its own network and /tmp, because ${programs}`
      : `commands share a network (through ${programs.socat === null ? "node" : "socat"}) and /tmp`;
  const filtered = closesNamespaces
    ? ""
    : "; user namespaces are closed by a filter, because bubblewrap is older than 0.8";
  return [
    `bubblewrap ${version}; ${network}${filtered}`,
    `reads: the system, this folder${shown.map((path) => `, ${path}`).join("")}`,
    `writes: this folder, /tmp${write.map((path) => `, ${path}`).join("")}`,
    `reaches: ${hosts.length === 0 ? "no hosts" : hosts.map(({ text }) => text).join(", ")}`,
    `home of commands: ${commandHome}`,
  ];
}
