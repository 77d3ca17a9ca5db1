/**
 * Configuration of a person and of a folder, and the trust in what a folder brings.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { readConfiguration } from "../../../src/cli/configuration/configuration.js";
import { resolveConfiguration } from "../../../src/cli/configuration/resolve-configuration.js";
import { stripComments } from "../../../src/cli/configuration/strip-comments.js";
import { readServersFile } from "../../../src/cli/mcp/servers-file.js";
import { createPermissions } from "../../../src/cli/permissions/permissions.js";
import { openRuleFile } from "../../../src/cli/permissions/rule-file.js";
import { diffLines, readFolderTrust, revokeTrust, trustFiles } from "../../../src/cli/trust/trust.js";
import { verifies } from "../../verifies.js";

function world(files: Readonly<Record<string, string>>) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-configuration-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  };
  mkdirSync(join(base, "root"));
  for (const [path, text] of Object.entries(files)) write(path, text);
  const place = {
    root: join(base, "root"),
    home: join(base, "home"),
    environment: { XDG_CONFIG_HOME: join(base, "config") },
  };
  const trust = () => trustFiles(place.root, place.home, readFolderTrust(place.root, place.home).files, "ada");
  return { base, place, write, trust };
}

const user = "config/pawl/pawl.config.json";
const folder = "root/pawl.config.json";
const edit = { tool: "edit_file", readOnly: false, input: { path: "a.txt" } };

describe("pawl.config.json", verifies("CHAT-4#settings"), () => {
  test("takes comments, and says nothing else than JSON", () => {
    const text = '{ // model\n "model": "a//b", /* "x": [1,] */ "limits": { "maxSteps": 3, }, }';
    expect(JSON.parse(stripComments(text))).toEqual({ model: "a//b", limits: { maxSteps: 3 } });
    expect(stripComments(text)).toHaveLength(text.length);
    expect(JSON.parse(stripComments('"\\"// no comment, ]"'))).toBe('"// no comment, ]');
  });

  test.each([
    ['{ "modell": "x" }', "modell is not a setting. Did you mean model? Fix the file"],
    ['{ "limits": { "maxStep": 1 } }', "Did you mean limits.maxSteps?"],
    ['{ "mcpServers": {} }', "MCP servers have their own file: pawl mcp add. Fix the file"],
    ['{ "hooks": {} }', "Hooks have their own file, hooks.json"],
    ['{ "promptCache": "2h" }', "promptCache must be auto, 5m, 1h or off"],
    ['{ "permissions": [] }', "permissions must be an object"],
    ['{ "permissions": { "allow": "todo" } }', "permissions.allow must be a list"],
    ['{ "limits": { "maxSteps": 0 } }', "above 0"],
    ['{ "model": 3 }', "model must be a string that is not empty"],
    ['{ "permissions": { "allways": [] } }', "permissions.allways is unknown (known are allow, ask, deny)"],
    ["[]", "must be an object"],
    ['{ "$schema": 3 }', "$schema must be an address"],
    ['{ "model": ', "not valid JSON"],
    ['{ "__proto__": {} }', "pawl.config.json cannot be used"],
  ])("%s is refused", (text, message) => {
    const { place } = world({ [user]: text });
    expect(() => resolveConfiguration(place)).toThrow(message);
  });

  test("may name a schema for editors, which sets nothing", () => {
    const { place } = world({ [user]: '{ "$schema": "https://example.org/pawl.json", "limits": { "maxSteps": 3 } }' });
    expect(resolveConfiguration(place)).toMatchObject({ limits: { maxSteps: 3 }, model: undefined });
  });

  test("of the folder stands above the person's, once it is trusted", () => {
    const { place, trust } = world({
      [user]: '{ "model": "demo", "limits": { "maxSteps": 9, "maxCostUsd": 1 } }',
      [folder]: '{ "model": "a/b", "limits": { "maxSteps": 5 } }',
    });
    expect(resolveConfiguration(place)).toMatchObject({ model: "demo", limits: { maxSteps: 9, maxCostUsd: 1 } });
    trust();
    expect(resolveConfiguration(place)).toMatchObject({
      model: "a/b",
      limits: { maxSteps: 5, maxCostUsd: 1 },
      warning: null,
    });
  });
});

describe("a file of settings, servers or rules", verifies("CHAT-4#settings"), () => {
  const readers = [
    ["pawl.config.json", (base: string) => readConfiguration(base)],
    [".mcp.json", (base: string) => readServersFile(join(base, ".mcp.json"))],
    ["permissions.json", (base: string) => openRuleFile(join(base, "permissions.json")).read()],
  ] as const;

  test.each(readers)("%s is refused before it is read if it is large, a pipe, a folder or no text", (name, read) => {
    const { base } = world({});
    const path = join(base, name);
    const replaced = (make: () => void) => {
      rmSync(path, { recursive: true, force: true });
      make();
      return () => read(base);
    };
    // Few characters, many bytes.
    const wide = JSON.stringify({ x: "€".repeat(350_000) });
    expect(replaced(() => writeFileSync(path, wide))).toThrow(/is larger than [\d,]+ bytes/);
    // More than a process could hold; it takes no room on the disk.
    const huge = replaced(() => {
      writeFileSync(path, "{}");
      truncateSync(path, 2 ** 40);
    });
    expect(huge).toThrow(/is larger than [\d,]+ bytes/);
    expect(replaced(() => execFileSync("mkfifo", [path]))).toThrow("it is not a regular file");
    expect(replaced(() => mkdirSync(path))).toThrow("it is not a regular file");
    expect(replaced(() => writeFileSync(path, Buffer.from([0x7b, 0xff, 0x7d])))).toThrow("it is not UTF-8 text");
    expect(replaced(() => {})).not.toThrow();
  });
});

describe("trust", verifies("SEC-17#settings"), () => {
  const brought = '{ "model": "a/b", "permissions": { "allow": ["edit_file"], "deny": ["shell(rm *)"] } }';

  test("is needed for what a folder sets and allows, and not for what it denies", async () => {
    const { place, trust } = world({ [folder]: brought });
    const permissions = createPermissions({ ...place, allowAll: false });
    const rm = { tool: "shell", readOnly: false, input: { command: "rm x" } };
    expect((await permissions.decide(edit)).verdict).toBe("ask");
    expect((await permissions.decide(rm)).verdict).toBe("deny");
    expect(resolveConfiguration(place)).toMatchObject({
      model: undefined,
      warning: expect.stringContaining("sets the model: a/b; allows without a question: edit_file"),
    });
    trust();
    expect((await permissions.decide(edit)).verdict).toBe("allow");
  });

  test.each(["changed by a byte", "taken back", "moved behind a link", "copied to another folder"])(
    "is gone at once if the file is %s",
    async (how) => {
      const { base, place, write, trust } = world({ [folder]: brought });
      trust();
      const permissions = createPermissions({ ...place, allowAll: false });
      expect((await permissions.decide(edit)).verdict).toBe("allow");
      if (how === "changed by a byte") write(folder, `${brought} `);
      else if (how === "taken back") revokeTrust(place.root, place.home);
      else if (how === "moved behind a link") {
        write("elsewhere.json", brought);
        rmSync(join(base, folder));
        symlinkSync(join(base, "elsewhere.json"), join(base, folder));
      } else {
        write("other/pawl.config.json", brought);
        expect(readFolderTrust(join(base, "other"), place.home).files).toMatchObject([{ isTrusted: false }]);
        return;
      }
      expect((await permissions.decide(edit)).verdict).toBe("ask");
    },
  );

  test("is given to what was shown, and not to what came meanwhile", () => {
    const { place, write } = world({ [folder]: brought });
    const shown = readFolderTrust(place.root, place.home).files;
    write(folder, brought.replace("a/b", "evil/model"));
    trustFiles(place.root, place.home, shown, "ada");
    expect(readFolderTrust(place.root, place.home).files).toMatchObject([{ isTrusted: false }]);
  });

  test("shows after a change only what has changed", () => {
    expect(diffLines("a\nb\nc\nc", "a\nx\nc")).toEqual(["- b", "- c", "+ x"]);
  });
});
