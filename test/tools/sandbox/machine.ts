/**
 * A home and a folder for tests of the sandbox in this process. What the machine's person has is not used.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished, vi } from "vitest";
import type { Json } from "../../../src/core/data/message.js";
import type { ToolContext } from "../../../src/ports/tool.js";
import { type CommandSandbox, createSandbox, type SandboxOptions } from "../../../src/tools/sandbox/sandbox.js";
import { type BackgroundProcesses, createBackgroundProcesses } from "../../../src/tools/shell/background-processes.js";
import { createShellTool, type ShellToolOptions } from "../../../src/tools/shell/shell.js";
import { noToolData } from "../../support/tool-data.js";
import { awaitToolOutput, createToolContext } from "../folder.js";

export type Machine = {
  readonly base: string;
  readonly home: string;
  readonly root: string;
  /** Opens the sandbox of the folder, or of another one, and gives what runs commands in it. */
  readonly open: (options?: Partial<SandboxOptions>, shell?: Partial<ShellToolOptions>) => OpenSandbox;
};

export type OpenSandbox = {
  readonly sandbox: CommandSandbox;
  readonly background: BackgroundProcesses;
  /** Runs a command, or what else a call of `shell` may ask for. */
  readonly run: (input: string | object, context?: Partial<ToolContext>) => Promise<string>;
};

/** @param files of the folder, which is `work/project` below the home */
export function createMachine(files: Readonly<Record<string, string>> = {}): Machine {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-machine-")));
  const home = join(base, "home");
  const root = join(home, "work/project");
  mkdirSync(root, { recursive: true });
  writeFiles(root, files);
  vi.stubEnv("HOME", home);
  vi.stubEnv("XDG_CACHE_HOME", undefined);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(base, { recursive: true, force: true });
  });
  return {
    base,
    home,
    root,
    open(options = {}, shell = {}) {
      const sandbox = createSandbox({ root, mode: "required", ...options });
      const background = createBackgroundProcesses();
      const data = createData();
      onTestFinished(async () => {
        await background.stopAll();
        await sandbox.close();
      });
      const tool = createShellTool({
        root: options.root ?? root,
        sandbox,
        background,
        requests: ["hosts", "outside"],
        killGraceMs: 100,
        ...shell,
      });
      return {
        sandbox,
        background,
        async run(input, context = {}) {
          const call = typeof input === "string" ? { command: input } : input;
          try {
            return String(
              await awaitToolOutput(tool.execute?.(call as never, { ...createToolContext(), data, ...context })),
            );
          } catch (error) {
            return String(error);
          }
        },
      };
    },
  };
}

/** The data of a session that nobody else has. */
function createData(): ToolContext["data"] {
  const values = new Map<string, Json>();
  return {
    ...noToolData,
    all: () => Object.fromEntries(values),
    set: (key, value) => void values.set(key, value as Json),
    delete: (key) => void values.delete(key),
  };
}

export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}
