/**
 * Tasks of A2A on real processes over one SQLite file: the first one is killed (SIGKILL), and the next one goes on.
 */
import { expect, test, vi } from "vitest";
import { verifies } from "../verifies.js";
import { byId, connectA2a, say, sendTask, stateOf, textsOf } from "./a2a-client.js";
import { createProcesses, words } from "./processes-rig.js";

const proven = verifies("PROT-8");

test("a message that is sent again after a kill is the same task, which ends", proven, async () => {
  const processes = await createProcesses();
  const first = await processes.start({ stops: [20] });
  const request = say("talk", {}, true);
  const task = await sendTask(await connectA2a(first.url, first.token), request);
  await first.stands(20);
  await first.kill();
  const second = await processes.start();
  const client = await connectA2a(second.url, second.token);
  const again = await sendTask(client, { ...request, configuration: say("").configuration });
  expect(again.id).toBe(task.id);
  expect(stateOf(again)).toBe("TASK_STATE_COMPLETED");
  expect(textsOf(again.artifacts[0]?.parts).join().trim()).toBe(words.join("").trim());
  expect(await processes.store.list({})).toHaveLength(1);
});

test("a question that was asked before a kill is answered after it", proven, async () => {
  const processes = await createProcesses();
  const first = await processes.start();
  const task = await sendTask(await connectA2a(first.url, first.token), say("pay"));
  expect(stateOf(task)).toBe("TASK_STATE_INPUT_REQUIRED");
  await first.kill();
  const second = await processes.start();
  const client = await connectA2a(second.url, second.token);
  expect(await client.getTask(byId(task.id))).toEqual(task);
  const yes = say("yes", { taskId: task.id }, true);
  const [answered, repeated] = [await sendTask(client, yes), await sendTask(client, yes)];
  expect(repeated.id).toBe(answered.id);
  await vi.waitFor(async () => expect(stateOf(await client.getTask(byId(task.id)))).toBe("TASK_STATE_COMPLETED"));
  const answers = (await processes.store.read(task.contextId)).filter(({ event }) => event.type === "answered");
  expect(answers).toHaveLength(1);
});
