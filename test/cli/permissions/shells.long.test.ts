/**
 * Random lines against real shells: what is read as plain commands is what the shells read.
 */
import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseShellLine } from "../../../src/cli/permissions/shell-line.js";
import { isWholeSweep } from "../../support/share.js";
import { verifies } from "../../verifies.js";

const names = ["git", "npm", "ls", "cat"] as const;
const words = [
  "status",
  "--short",
  "-x",
  "a.b",
  "x/y",
  "é",
  "a=b",
  "%1",
  "@s/n",
  "1",
  "+x",
  "a,b:c",
  "^",
  "#",
  "a#b",
  "~",
  "{a,b}",
  "*",
  "?",
  "[a]",
  "!",
  "$x",
  "\\a",
  "time",
  "if",
  "=z",
  "-",
  "--",
] as const;
const inQuotes = ["", " ", "a b", ";", "&&", "|", "x", "#", "é", "*", "~", "$x", "`", "\\", "!"] as const;
const joints = [
  " ",
  "  ",
  "\t",
  "&&",
  "||",
  ";",
  "|",
  "\n",
  "&",
  " && ",
  " ; ",
  "\n\n",
  "|&",
  ">",
  "<",
  "(",
  ")",
  ";;",
  "\r",
  "\u00a0",
  "",
] as const;

const quoted = fc
  .tuple(fc.constantFrom("'", '"'), fc.array(fc.constantFrom(...inQuotes), { maxLength: 3 }))
  .map(([quote, parts]) => `${quote}${parts.join("")}${quote}`);
const piece = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...names) },
  { weight: 5, arbitrary: fc.constantFrom(...words.slice(0, 12)) },
  { weight: 1, arbitrary: fc.constantFrom(...words) },
  { weight: 3, arbitrary: quoted },
);
const gap = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...joints.slice(0, 12)) },
  { weight: 1, arbitrary: fc.constantFrom(...joints) },
);
const line = fc
  .tuple(fc.constantFrom(...names), fc.array(fc.tuple(gap, piece), { maxLength: 6 }))
  .map(([name, rest]) => [name, ...rest.flat()].join(""));
/** Lines that are likely to be read: each command begins with a name. */
const plain = fc
  .array(
    fc.tuple(
      fc.constantFrom(...names),
      fc.array(fc.oneof(fc.constantFrom(...words.slice(0, 12)), quoted), { maxLength: 3 }),
    ),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  .chain((commands) =>
    fc
      .array(fc.constantFrom("&&", "||", ";", "|", "\n", " && ", " | "), {
        minLength: commands.length,
        maxLength: commands.length,
      })
      .map((between) =>
        commands
          .map(([name, given], at) => `${[name, ...given].join(" ")}${at + 1 < commands.length ? between[at] : ""}`)
          .join(""),
      ),
  );

/** Each name is a function that tells its words at once, also within a pipe. */
const prelude = `exec 3>&1
${names.map((name) => `${name}() { all=${name}; for word in "$@"; do all="$all$one$word"; done; printf '%s\\002' "$all" >&3; }`).join("\n")}
one=$(printf '\\001')
`;

function readBy(shell: string, text: string): readonly string[] {
  const { stdout } = spawnSync(shell, ["-c", `${prelude}${text}`], {
    encoding: "utf8",
    cwd: "/",
    input: "",
    timeout: 10_000,
  });
  return stdout.split("\u0002").slice(0, -1);
}

describe.each(["sh", "bash"])("%s", (shell) => {
  test("reads the same words as the rules do", { timeout: 120_000, ...verifies("CHAT-2#rules") }, async () => {
    let read = 0;
    await fc.assert(
      fc.asyncProperty(fc.oneof(line, plain), async (text) => {
        const strict = await parseShellLine(text, "/");
        if (
          !strict.ok ||
          !strict.commands.every(
            ({ words: [name = ""], patterns, inputs }) =>
              patterns.size + inputs.length === 0 && (names as readonly string[]).includes(name),
          )
        )
          return;
        read += 1;
        const ours = strict.commands.map(({ words: command }) => command.join("\u0001"));
        const theirs = readBy(shell, text);
        // The parts of a pipe run at the same time. What stands behind || does not run, because every command succeeds.
        const left = [...ours];
        for (const command of theirs) {
          expect(left).toContain(command);
          left.splice(left.indexOf(command), 1);
        }
        if (!/\|\|/.test(text)) expect(left).toEqual([]);
      }),
      { numRuns: isWholeSweep ? 1_200 : 400 },
    );
    expect(read).toBeGreaterThan(isWholeSweep ? 200 : 60);
  });
});
