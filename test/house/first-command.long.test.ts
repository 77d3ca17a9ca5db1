/**
 * The first command of somebody new: `pawl run`, from a clone and from the packed package in each way to install it, on Node 20 and 24,
 * with nothing, with a provider's key, and with a local model server.
 */
import { execFile, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { node24 } from "../../scripts/install-node.mjs";
import { type FormatName, startProviderServer } from "../models/provider-server.js";
import { serverKinds, startLocalServer } from "../servers/local-server.js";
import { verifies } from "../verifies.js";

const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-first-")));
const cache = join(base, "cache");
const nodes = [...new Set([process.execPath, node24() ?? process.execPath])];

/** Where each way to install puts the program, and the command that adds a package to it. */
const installs = {
  clone: { program: () => resolve("dist/cli/main.js"), adding: () => null },
  npx: {
    program: () => {
      const [folder = ""] = readdirSync(join(cache, "_npx"));
      return join(cache, "_npx", folder, "node_modules/pawl/dist/cli/main.js");
    },
    adding: (name: string) => `npx -p pawl -p ${name} pawl …`,
  },
  global: {
    program: () => join(base, "global/lib/node_modules/pawl/dist/cli/main.js"),
    adding: (name: string) => `npm install -g ${name}`,
  },
  local: {
    program: () => join(base, "local/node_modules/pawl/dist/cli/main.js"),
    adding: (name: string) => `npm install --prefix "${join(base, "local")}" ${name}`,
  },
} as const;

type Install = keyof typeof installs;

function npm(command: string, args: readonly string[], cwd = base): string {
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund"];
  const { status, stdout, stderr } = spawnSync(command, [...args, ...quiet], { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}\n${stdout}${stderr}`);
  return stdout + stderr;
}

let said = "";

beforeAll(() => {
  npm("npm", ["pack", "--ignore-scripts", "--pack-destination", base], process.cwd());
  const tarball = join(base, readdirSync(base).find((file) => file.endsWith(".tgz")) ?? "");
  for (const folder of ["local", "global", "work"]) mkdirSync(join(base, folder));
  writeFileSync(join(base, "local/package.json"), JSON.stringify({ private: true }));
  said += npm("npm", ["install", tarball], join(base, "local"));
  said += npm("npm", ["install", "-g", "--prefix", join(base, "global"), tarball]);
  said += npm("npx", ["--yes", "--cache", cache, "--package", tarball, "pawl", "--version"], join(base, "work"));
}, 300_000);

afterAll(() => rmSync(base, { recursive: true, force: true }));

const nowhere = "http://127.0.0.1:9/v1";

type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

function firstCommand(node: string, install: Install, env: object, args: readonly string[] = []): Promise<Ended> {
  return pawl(node, install, env, ["run", ...args, "List the files"]);
}

/** Runs a command in an empty folder, with a home of its own. */
function pawl(node: string, install: Install, env: object, args: readonly string[]): Promise<Ended> {
  const home = mkdtempSync(join(base, "home-"));
  const cwd = mkdtempSync(join(base, "work-"));
  const surroundings = {
    PATH: `${dirname(node)}:${process.env.PATH}`,
    HOME: home,
    PAWL_HOME: join(home, "pawl"),
    OLLAMA_BASE_URL: nowhere,
    LLAMACPP_BASE_URL: nowhere,
    LMSTUDIO_BASE_URL: nowhere,
    VLLM_BASE_URL: nowhere,
    ...env,
  };
  const command = [installs[install].program(), ...args];
  return new Promise((settle) => {
    const child = execFile(node, command, { cwd, env: surroundings }, (_, stdout, stderr) =>
      settle({ code: child.exitCode, stdout, stderr }),
    );
    child.stdin?.end();
  });
}

/** What a person has, and the model that the command then uses. */
const providers: readonly (readonly [string, FormatName, string, string, readonly string[]])[] = [
  ["anthropic/claude-sonnet-5-5", "anthropic-messages", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", []],
  ["openai/gpt-6-astra", "openai-responses", "OPENAI_API_KEY", "OPENAI_BASE_URL", ["--model", "openai/gpt-6-astra"]],
  [
    "google/gemini-flash-latest",
    "google-generate-content",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GOOGLE_GENERATIVE_AI_BASE_URL",
    [],
  ],
  ["openrouter/openrouter/auto", "openai-chat", "OPENROUTER_API_KEY", "OPENROUTER_BASE_URL", []],
];

const ways = Object.keys(installs) as readonly Install[];
const table = nodes.flatMap((node) => {
  const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
  return ways.map((install) => ({ node, version, install }));
});

describe.each(table)("$install on Node $version", ({ node, version, install }) => {
  const hasSqlite = !version.startsWith("v20.") || install === "clone";

  test("with nothing: the demo model works", verifies("CHAT-5", "CLI-5"), async () => {
    const { code, stdout, stderr } = await firstCommand(node, install, {});
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
    expect(stderr).toContain("Using the demo model, not an LLM, because no model was named, no key is set");
    expect(stdout).toContain("I am Pawl's demo model");
    const lost = stderr.split("\n").filter((line) => line.includes("This session is lost"));
    expect(lost).toEqual(
      hasSqlite
        ? []
        : [
            `This session is lost when the command ends, because Node ${version} has no SQLite. To keep sessions, use Node 22.13 or later, or run: ${installs[install].adding("libsql")}`,
          ],
    );
  });

  // Which model is used does not depend on the way to install.
  test.runIf(install === "local").for(providers)(
    "with a key for %s",
    verifies("CHAT-5"),
    async ([model, format, key, address, args]) => {
      const server = await startProviderServer(format, () => ({ type: "answer", text: "There are none." }));
      onTestFinished(() => server.close());
      const { code, stdout, stderr } = await firstCommand(
        node,
        install,
        { [key]: "a-key-of-a-test", [address]: server.baseURL },
        args,
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
      expect(stderr).toContain(`Using ${model}, because `);
      expect(stdout).toBe("There are none.\n");
    },
  );

  test.runIf(install === "local").for(Object.entries(serverKinds))("with %s", verifies("CHAT-5"), async ([, kind]) => {
    const server = await startLocalServer(kind, { answer: () => ({ type: "answer", text: "There are none." }) });
    const { code, stdout, stderr } = await firstCommand(node, install, server.env);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.any(String) });
    expect(stderr).toContain(`Using ${kind.provider}/${kind.modelId}, because `);
    expect(stdout).toBe("There are none.\n");
  });

  test("what is missing is said in one line, with the command for this installation", verifies("CHAT-5"), async () => {
    const env = { MISTRAL_API_KEY: "a-key-of-a-test" };
    // A clone has the packages of all known providers.
    if (install === "clone") return;
    const { code, stdout, stderr } = await firstCommand(node, install, env, ["--model", "mistral/small"]);
    expect({ code, stdout }).toEqual({ code: 5, stdout: "" });
    expect(stderr.trimEnd().split("\n").at(-1)).toBe(
      `pawl: The model needs the package @ai-sdk/mistral, which is not installed with Pawl. Install it: ${installs[install].adding("@ai-sdk/mistral")}`,
    );
  });
});

describe.each(table.filter(({ version, install }) => version.startsWith("v20.") && install !== "clone"))(
  "$install on Node $version, without SQLite",
  ({ node, install }) => {
    test.each([
      ["run", "List the files", "--continue"],
      ["run", "List the files", "--session", "mine"],
      ["run", "List the files", "--park"],
      ["sessions"],
      ["resume", "3f8c"],
    ])("%s %s %s needs kept sessions, and says how to keep them", verifies("CHAT-5"), async (...args) => {
      const { code, stderr } = await pawl(node, install, {}, args);
      expect(code).toBe(5);
      expect(stderr.trimEnd().split("\n")).toEqual([
        `pawl: Node ${process.version} has no SQLite, so no sessions are kept. To keep sessions, use Node 22.13 or later, or run: ${installs[install].adding("libsql")}`,
      ]);
    });
  },
);

test("npm has no warning about the package", verifies("SEC-16"), () => {
  expect(said).not.toMatch(/npm warn (?!config|Unknown)/i);
});
