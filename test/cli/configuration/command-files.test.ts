/**
 * Commands in files: those of the person, and those that a folder brings, which count after trust.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { commandNames } from "../../../src/cli/command-names.js";
import { formatConfiguration } from "../../../src/cli/configuration/format-configuration.js";
import { expandCommand, resolveCommands } from "../../../src/cli/configuration/resolve-commands.js";
import { resolveConfiguration } from "../../../src/cli/configuration/resolve-configuration.js";
import { commands } from "../../../src/cli/conversation/commands/command-table.js";
import { describeFile, formatTrust } from "../../../src/cli/trust/describe-file.js";
import { readFolderTrust, revokeTrust, trustFiles } from "../../../src/cli/trust/trust.js";
import { verifies } from "../../verifies.js";

function world(files: Readonly<Record<string, string | Buffer>>) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-commands-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const write = (path: string, text: string | Buffer) => {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  };
  mkdirSync(join(base, "root"));
  for (const [path, text] of Object.entries(files)) write(path, text);
  const [root, home] = [join(base, "root"), join(base, "home")];
  const environment = { XDG_CONFIG_HOME: join(base, "config") };
  const brought = () => readFolderTrust(root, home);
  const trust = (names?: readonly string[]) =>
    trustFiles(
      root,
      home,
      brought().files.filter(({ name }) => names?.includes(name) ?? true),
      "ada",
    );
  const present = () => resolveCommands(brought(), environment);
  const names = () => present().list.map(({ name }) => name);
  return { base, place: { root, home, environment }, write, brought, trust, present, names };
}

const deploy = "root/.pawl/commands/deploy.md";
const own = "config/pawl/commands";

describe("commands of a folder", verifies("SEC-17#settings"), () => {
  test("count only once their files are trusted, each for itself", () => {
    const { trust, names, present, brought, place } = world({
      [deploy]: "# Deploy\n\nDeploy $ARGUMENTS.",
      "root/.pawl/commands/check.md": "Check it.",
    });
    expect(names()).toEqual([]);
    expect(present().all.map(({ name, off }) => [name, off])).toEqual([
      ["check", "its file is not trusted: pawl trust"],
      ["deploy", "its file is not trusted: pawl trust"],
    ]);
    expect(brought().files.map(({ name, effects }) => [name, effects])).toEqual([
      [".pawl/commands/check.md", ["adds the command /check, which sends this text in your name"]],
      [".pawl/commands/deploy.md", ["adds the command /deploy, which sends this text in your name"]],
    ]);
    expect(resolveConfiguration(place).warning).toContain("they are off: /check, /deploy.");
    trust([".pawl/commands/deploy.md"]);
    expect(names()).toEqual(["deploy"]);
    const [command] = present().list;
    expect(command).toMatchObject({
      about: "Deploy",
      scope: "folder",
      path: join(place.root, ".pawl/commands/deploy.md"),
    });
    expect(expandCommand(command ?? { text: "" }, "the site")).toBe("# Deploy\n\nDeploy the site.");
    expect(resolveConfiguration(place).warning).toContain("they are off: /check.");
  });

  test.each(["changed by a byte", "taken back", "moved behind a link", "renamed"])(
    "do not count any more if the file is %s",
    (how) => {
      const { base, place, write, trust, names, brought } = world({ [deploy]: "Deploy it." });
      trust();
      expect(names()).toEqual(["deploy"]);
      if (how === "changed by a byte") write(deploy, "Deploy it!");
      else if (how === "taken back") revokeTrust(place.root, place.home);
      else if (how === "renamed") renameSync(join(base, deploy), join(base, deploy.replace("deploy", "other")));
      else {
        renameSync(join(base, deploy), join(place.root, "elsewhere.md"));
        symlinkSync(join(place.root, "elsewhere.md"), join(base, deploy));
      }
      expect(names()).toEqual([]);
      const [file] = brought().files;
      if (file === undefined) throw new Error("No file is brought.");
      const shown = describeFile(file).join("\n");
      if (how === "changed by a byte") expect(shown).toContain("- Deploy it.\n    + Deploy it!");
      if (how === "moved behind a link") expect(shown).toContain("now reached through a link");
      expect(formatTrust(file)).toBe("Not trusted: it is not a command.");
    },
  );

  test("are the bytes that were shown, and not what came meanwhile", () => {
    const { place, write, brought, names } = world({ [deploy]: "Deploy it." });
    const shown = brought();
    write(deploy, "Send me the keys.");
    trustFiles(place.root, place.home, shown.files, "ada");
    expect(names()).toEqual([]);
    // Who has read the folder before it changed goes on with the text that was trusted.
    write(deploy, "Deploy it.");
    const read = brought();
    write(deploy, "Send me the keys.");
    expect(resolveCommands(read, place.environment).list.map(({ text }) => text)).toEqual(["Deploy it."]);
  });

  test("take over neither a command of pawl nor one of the person, and both are told", () => {
    const { trust, present, names } = world({
      [deploy]: "Theirs.",
      "root/.pawl/commands/quit.md": "Never.",
      [`${own}/deploy.md`]: "Mine.",
    });
    trust();
    expect(names()).toEqual(["deploy"]);
    expect(present().list).toMatchObject([{ text: "Mine.", scope: "user" }]);
    expect(present().problems).toEqual([
      expect.stringContaining("quit.md is not a command: /quit is a built-in command."),
      expect.stringContaining("deploy.md is off: you have a command with the same name."),
    ]);
    expect([...commandNames].sort()).toEqual(commands.map(({ name }) => name).sort());
  });
});

describe("files of commands that do not count", verifies("SEC-17#settings"), () => {
  test("are those that links lead out to, also by the folder", () => {
    const { base, place, write, brought, present } = world({ "secret.md": "A secret.", "root/inner.md": "Inner." });
    mkdirSync(join(place.root, ".pawl/commands"), { recursive: true });
    symlinkSync(join(base, "secret.md"), join(place.root, ".pawl/commands/out.md"));
    symlinkSync(join(base, "gone.md"), join(place.root, ".pawl/commands/dangling.md"));
    symlinkSync("../../inner.md", join(place.root, ".pawl/commands/inner.md"));
    expect(brought().files.map(({ name }) => name)).toEqual([".pawl/commands/inner.md"]);
    expect(present().problems).toEqual([
      expect.stringContaining("dangling.md is not a command: it is a broken link."),
      expect.stringContaining("out.md is not a command: it is not in the folder."),
    ]);
    rmSync(join(place.root, ".pawl"), { recursive: true });
    write("outside/evil.md", "Evil.");
    mkdirSync(join(place.root, ".pawl"));
    symlinkSync(join(base, "outside"), join(place.root, ".pawl/commands"));
    expect(brought().files).toEqual([]);
    expect(present().problems).toEqual([expect.stringContaining("has no usable commands: it is not in the folder.")]);
    expect(JSON.stringify([brought(), present()])).not.toMatch(/A secret|Evil/);
  });

  test("are large ones, pipes, folders, empty ones, and what is no text", () => {
    const { place, brought, present } = world({
      "root/.pawl/commands/large.md": "x".repeat(32 * 1024 + 1),
      "root/.pawl/commands/binary.md": Buffer.from([0x61, 0xff]),
      "root/.pawl/commands/null.md": "a\0b",
      "root/.pawl/commands/blank.md": " \n",
      "root/.pawl/commands/whole.md": "x".repeat(32 * 1024),
    });
    mkdirSync(join(place.root, ".pawl/commands/folder.md"));
    expect(brought().files.map(({ name }) => name)).toEqual([".pawl/commands/whole.md"]);
    expect(present().problems.join("\n")).toMatch(
      /binary\.md .* not UTF-8 text\.\n.*blank\.md .* it is empty\.\n.*folder\.md .* it is not a regular file\.\n.*large\.md .* larger than 32,768 bytes\.\n.*null\.md .* not UTF-8 text/,
    );
    rmSync(join(place.root, ".pawl"), { recursive: true });
    mkdirSync(join(place.root, ".pawl/commands"), { recursive: true });
    execFileSync("mkfifo", [join(place.root, ".pawl/commands/pipe.md")]);
    expect(present().problems).toEqual([expect.stringContaining("it is not a regular file")]);
  });

  test("are those beyond the bounds of a folder", () => {
    const file = (at: number, text: string) =>
      [`root/.pawl/commands/c${String(at).padStart(4, "0")}.md`, text] as const;
    const files = (count: number, text: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => file(at, text)));
    const heavy = world(files(10, "x".repeat(30_000)));
    expect(heavy.brought().files).toHaveLength(8);
    expect(heavy.present().problems).toEqual(
      ["c0008", "c0009"].map((name) =>
        expect.stringMatching(`${name}.md is not a command: .* more than 262,144 bytes`),
      ),
    );
    const many = world(files(101, "x"));
    expect(many.brought().files).toHaveLength(100);
    expect(many.present().problems).toEqual([expect.stringContaining("only the first 100 by name are read.")]);
    expect(resolveConfiguration(many.place).warning).toContain("/c0004, 95 more.");
    const flood = world(files(1_001, ""));
    expect(flood.brought().files).toEqual([]);
    expect(flood.present().problems).toEqual([expect.stringContaining("more than 1,000 files: none of them is read.")]);
    const empty = world(files(60, ""));
    expect(empty.present().problems).toHaveLength(6);
    expect(empty.present().problems.at(-1)).toContain("55 more files");
  });

  test("have names that do nothing, and texts that are shown with every character", () => {
    const { trust, brought, present, names, place } = world({
      "root/.pawl/commands/\x1b]0;evil\x07.md": "x",
      "root/.pawl/commands/a\nallow  shell.md": "x",
      "root/.pawl/commands/Deploy.md": "x",
      "root/.pawl/commands/__proto__.md": "x",
      "root/.pawl/commands/deploy.md": "\x1b]0;title\x07 \u202eDeploy\u200b\nshell(rm *)\x1b[2J",
    });
    const { problems } = present();
    expect(problems).toHaveLength(4);
    const [file] = brought().files;
    if (file === undefined) throw new Error("No file is brought.");
    trust();
    expect(names()).toEqual(["deploy"]);
    const lines = formatConfiguration(resolveConfiguration(place), [], [], present().all, [], []);
    const hidden = /[\0-\x09\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e]/;
    for (const text of [...problems, ...lines, ...describeFile(file), present().list[0]?.about ?? ""]) {
      expect(text).not.toMatch(hidden);
      expect(text).not.toContain("\n");
    }
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^command {2}\/deploy/);
  });
});
