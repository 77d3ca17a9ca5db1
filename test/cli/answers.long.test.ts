/**
 * Eight calls ask at once. Two people answer out of order, each in their own process, and the process that holds the
 * run is killed after each answer. Every call gets one result, approved calls run once, and a second answer is
 * reported as one.
 */
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { verifies } from "../verifies.js";
import { createWorld, parseJsonLines } from "./pawl.js";

const fixture = fileURLToPath(new URL("../fixtures/asking-agent.mjs", import.meta.url));

type Answer = { readonly call: number; readonly args: readonly string[]; readonly said: string };

const approve = (call: number): Answer => ({ call, args: ["approve"], said: "was approved" });

/** The order of the answers. The eighth call expires. */
const answers: readonly Answer[] = [
  approve(5),
  { call: 2, args: ["deny", "--note", "not him"], said: "was denied" },
  { call: 7, args: ["approve", "--input", '{"to":7,"cents":7}'], said: "was approved with changes" },
  approve(1),
  approve(6),
  approve(3),
  approve(4),
];

test("eight parallel asks are answered out of order by two processes, the holder killed between each", {
  ...verifies("HITL-2", "HITL-3", "HITL-4", "SEC-6#bound", "CLI-4#part-2"),
  timeout: 180_000,
}, async () => {
  const world = createWorld();
  const ledger = join(world.base, "ledger");
  mkdirSync(ledger);
  const hold = (held = "none") => world.startNode(fixture, [world.home, ledger, held]);
  const answer = ({ call, args }: Answer, by: string) => {
    const [verb = "", ...options] = args;
    return world.pawl([verb, `s/1/${call}`, ...options, "--by", by]);
  };

  const asking = hold();
  await asking.said('"type":"result"');
  asking.kill("SIGKILL");
  await asking.ended;

  let open: Answer | undefined;
  for (const [round, one] of answers.entries()) {
    const [first, second] = round % 2 === 0 ? (["ada", "bob"] as const) : (["bob", "ada"] as const);
    expect(await answer(one, first)).toMatchObject({ code: 0 });
    const isPaid = one.args[0] === "approve";
    const holder = hold(isPaid ? String(one.call) : undefined);
    // This life repeats what the last one did not finish, and is killed while it handles the new answer.
    if (open !== undefined) await holder.said(`"type":"call_complete","status":"ok","durationMs":`);
    await holder.said(isPaid ? `{"type":"paid","to":${one.call}}` : '"outcome":"denied"');
    const late = await answer(one, second);
    expect(late.stdout).toMatch(new RegExp(`Another answer came first, .* s/1/${one.call} ${one.said} by ${first} `));
    holder.kill("SIGKILL");
    expect(await holder.ended).toMatchObject({ signal: "SIGKILL" });
    open = isPaid ? one : undefined;
  }
  const expired = await answer(approve(8), "ada");
  expect(expired).toMatchObject({
    code: 2,
    stdout: expect.stringContaining("s/1/8 expired before it was answered"),
  });

  const last = hold();
  await last.said('"status":"completed"');
  last.kill("SIGKILL");
  await last.ended;

  const paid = readdirSync(ledger).filter((name) => name !== "attempts");
  expect(Object.fromEntries(paid.map((name) => [name, JSON.parse(readFileSync(join(ledger, name), "utf8"))]))).toEqual({
    "s-r-1-1": { to: 1, cents: 100 },
    "s-r-1-3": { to: 3, cents: 300 },
    "s-r-1-4": { to: 4, cents: 400 },
    "s-r-1-5": { to: 5, cents: 500 },
    "s-r-1-6": { to: 6, cents: 600 },
    "s-r-1-7": { to: 7, cents: 7 },
  });
  const log = parseJsonLines((await world.pawl(["sessions", "export", "s"])).stdout).map(({ event }) => event);
  const finished = log.filter(({ type }) => type === "tool_finished");
  expect(finished.map(({ callKey, outcome }) => `${callKey} ${outcome}`).sort()).toEqual([
    "r/1/1 ok",
    "r/1/2 denied",
    "r/1/3 ok",
    "r/1/4 ok",
    "r/1/5 ok",
    "r/1/6 ok",
    "r/1/7 ok",
    "r/1/8 denied",
  ]);
  const answered = log.filter(({ type }) => type === "answered");
  expect(answered.map(({ callKey, by }) => `${callKey} ${by}`)).toEqual(
    answers.map(({ call }, round) => `r/1/${call} ${round % 2 === 0 ? "ada" : "bob"}`),
  );
  expect(log.at(-1)).toMatchObject({ type: "run_finished", reason: "stop" });
});
