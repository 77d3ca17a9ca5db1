/**
 * The project's own attacks on the sandbox, with canaries (attacks.ts): none succeeds, and each succeeds without the part of the
 * sandbox that holds it. So no part is there that nothing needs.
 */
import { describe, expect, test } from "vitest";
import { detectSandbox } from "../../../src/tools/sandbox/sandbox.js";
import { verifies } from "../../verifies.js";
import { type Attack, attacks } from "./attacks.js";
import { type AttackWorld, canRead, createAttackWorld, nobody } from "./world.js";

const isRoot = process.getuid?.() === 0;
const users: readonly (readonly [title: "root" | "user", uid: number])[] = isRoot
  ? [["root", 0], ...(canRead(nobody) ? [["user", nobody] as const] : [])]
  : [["user", process.getuid?.() ?? nobody]];
const hide = [".env", "deep/er/secret.env"];
const parts = [...new Set(attacks.flatMap(({ needs }) => needs ?? []))];

/** One command line that tries all attacks, one after the other. */
function lineOf(tried: readonly Attack[], variables: Readonly<Record<string, string>>): string {
  const exports = Object.entries({ ...variables, PAWL: "@PAWL@" });
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  return [
    ...exports.map(([name, value]) => `export ${name}="${value}"`),
    ...tried.map(
      ({ line }, at) => `echo; echo "@@@ ${at}"; timeout 25 bash -c ${quoted(line)} 2>&1 </dev/null | head -c 3000`,
    ),
    "true",
  ].join("\n");
}

/** The titles of the attacks that did what they tried. */
async function findEscapes(world: AttackWorld, tried: readonly Attack[], without?: string): Promise<readonly string[]> {
  const job = { commands: [lineOf(tried, world.variables)], hide, sandbox: openFolderSandbox(world) };
  const [result = ""] = await world.run(without === undefined ? job : { ...job, without });
  const outputs = new Map(
    result
      .split("\n@@@ ")
      .slice(1)
      .map((block) => [Number.parseInt(block, 10), block.slice(block.indexOf("\n"))] as const),
  );
  expect([result.slice(0, 500), outputs.size]).toEqual([expect.anything(), tried.length]);
  return tried.filter((_attack, at) => /CANARY-|^ESCAPED/m.test(outputs.get(at) ?? "")).map(({ title }) => title);
}

const openFolderSandbox = ({ variables }: AttackWorld) => ({
  hosts: [`127.0.0.2:${variables.ALLOWED}`, `ip6-localhost:${variables.PORT}`, `localhost:${variables.PORT}`],
  addresses: ["127.0.0.2"],
});

describe.runIf(detectSandbox() === "bubblewrap").each(users)("as %s,", (user, uid) => {
  const tried = attacks.filter(({ only }) => only === undefined || only === user);

  test(`none of the attacks succeeds`, verifies("BOX-1", "BOX-2"), async () => {
    expect(attacks.length).toBeGreaterThanOrEqual(100);
    const world = await createAttackWorld(uid);
    const before = world.fingerprint();
    expect(await findEscapes(world, tried)).toEqual([]);
    expect(world.fingerprint()).toBe(before);
  });

  // What only holds root is shown as root, and everything else as a user without rights.
  const own = parts.filter((part) => {
    const isOfRoot = attacks.every(({ needs, only }) => needs !== part || only === "root");
    return isOfRoot ? user === "root" : user === "user";
  });

  test("each attack succeeds without the part of the sandbox that holds it", verifies("BOX-1"), async () => {
    const world = await createAttackWorld(uid);
    for (const part of own) {
      const needing = tried.filter(({ needs }) => needs === part);
      const succeeded = await findEscapes(world, needing, part);
      expect({ part, succeeded }).toEqual({ part, succeeded: needing.map(({ title }) => title) });
    }
  });
});
