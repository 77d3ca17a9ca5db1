/**
 * The scripts of `pawl completion`, read by the shells themselves.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openProgram } from "../terminal/pseudo-terminal.js";
import { verifies } from "../verifies.js";
import { createWorld } from "./pawl.js";

type Shell = "bash" | "zsh" | "fish";

/** A shell that is not installed here is not asked. */
const has = (shell: string) => spawnSync(shell, ["-c", "true"]).status === 0;

async function scriptOf(shell: Shell): Promise<string> {
  const world = createWorld();
  const { code, stdout, stderr } = await world.pawl(["completion", shell]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const file = join(world.root, "script");
  writeFileSync(file, stdout);
  return file;
}

/** What a shell offers for the last of these words. */
const askers: { readonly [Name in Shell]: (file: string, words: readonly string[]) => readonly string[] } = {
  bash(file, words) {
    const line = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _pawl 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return run("bash", ["--norc", "-c", line, file, ...words]);
  },
  zsh(file, words) {
    // What _describe is given, that fits the word. The real one needs an interactive shell.
    const line = `compdef() { : }; _files() { print files }
      _describe() { local name="\${@[-1]}" entry; for entry in "\${(@P)name}"; do [[ "$entry" == "\${words[CURRENT]}"* ]] && print -r -- "\${entry%%:*}"; done }
      source "$0"; words=("$@"); CURRENT=\${#words}; _pawl; true`;
    return run("zsh", ["-f", "-c", line, file, ...words]);
  },
  fish(file, words) {
    const given = run("fish", ["--no-config", "-c", "source $argv[1]; complete -C $argv[2]", file, words.join(" ")]);
    return given.map((line) => line.split("\t")[0] ?? "");
  },
};

function run(file: string, args: readonly string[]): readonly string[] {
  const lines = execFileSync(file, [...args], { encoding: "utf8" }).split("\n");
  return lines.filter((line) => line !== "").sort();
}

test.skipIf(!has("zsh"))(
  "zsh shows and completes them where a person types, with its own completion system",
  verifies("CLI-4#part-1"),
  async () => {
    const file = await scriptOf("zsh");
    const person = openProgram(createWorld(), "zsh", ["-f", "-i"], { columns: 100 });
    person.type(`PROMPT='$ '; autoload -Uz compinit; compinit -u -D; source '${file}'; clear; echo begun\r`);
    await person.sees(/^begun\n\$/);
    person.type("pawl re\t");
    await person.sees(/\$ pawl re[\s\S]*replay +-- replay[\s\S]*resume +-- continue/);
    person.type("pl\t");
    await person.sees(/\$ pawl replay$/m);
    person.type("\x15pawl sessions s\t--nu\t");
    await person.sees("$ pawl sessions show --numbers");
  },
);

describe.each(["bash", "zsh", "fish"] as const)("in %s", (shell) => {
  test.skipIf(!has(shell))(
    "commands, commands within commands, and options are completed",
    verifies("CLI-4#part-1"),
    async () => {
      const file = await scriptOf(shell);
      const ask = (...words: string[]) => askers[shell](file, words);
      expect(ask("pawl", "re")).toEqual(["replay", "resume"]);
      expect(ask("pawl", "sessions", "s")).toEqual(["show"]);
      expect(ask("pawl", "sessions", "show", "--nu")).toEqual(["--numbers"]);
      expect(ask("pawl", "run", "--max-s")).toEqual(["--max-steps"]);
      // An option of another command, and a word that is no command.
      expect(ask("pawl", "sessions", "--max-s")).toEqual([]);
      expect(ask("pawl", "run", "sessions", "--contin")).toEqual(["--continue"]);
      expect(ask("pawl", "completion", "z")).toEqual(["zsh"]);
    },
  );
});

test("every command and option of the help is in the script", async () => {
  const world = createWorld();
  const { stdout: script } = await world.pawl(["completion", "bash"]);
  const { stdout: help } = await world.pawl(["--help"]);
  const [, listed = ""] = help.split(/^Options:$/m);
  const commands = [...listed.matchAll(/^ {2}([a-z]+)(?: |$)/gm)].map(([, name = ""]) => name);
  expect(commands.length).toBeGreaterThan(15);
  for (const command of commands) expect(script).toContain(`'pawl ${command}')`);
  for (const [option] of help.matchAll(/--[a-z-]+/g)) expect(script).toContain(option);
});
