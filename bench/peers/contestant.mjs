/**
 * A contender's process, from the side of its parent.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";

const child = fileURLToPath(new URL("./child.mjs", import.meta.url));

/**
 * Starts a contender on a workload, and resolves when it is warm.
 * Its `measure` resolves to the result, or rejects with the reason why there is none. The caller must close it.
 */
export async function start(contender, workload, { node, options, limitMs }) {
  const process = fork(child, [contender, workload, JSON.stringify(options)], {
    execPath: node,
    execArgv: ["--expose-gc", "--max-old-space-size=8192"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let said = "";
  process.stderr.on("data", (chunk) => {
    said = (said + chunk).slice(-2000);
  });
  const closed = new Promise((resolve) => process.once("close", resolve));
  await answer("ready");
  return {
    async measure() {
      process.send("measure");
      return (await answer("result")).result;
    },
    async close() {
      process.kill("SIGKILL");
      await closed;
    },
  };

  /** The next message, which must be of this kind. */
  function answer(kind) {
    return new Promise((resolve, reject) => {
      const fail = (why) => {
        done();
        process.kill("SIGKILL");
        reject(new Error(why));
      };
      const timer = setTimeout(() => fail(`took longer than ${limitMs / 1000} s`), limitMs);
      const onMessage = (message) => {
        if (!(kind in message)) return fail(message.failure ?? "said something else");
        done();
        resolve(message);
      };
      const onClose = () => fail(lastLineOf(said) || "ended without a word");
      const done = () => {
        clearTimeout(timer);
        process.off("message", onMessage);
        process.off("close", onClose);
      };
      process.on("message", onMessage);
      process.on("close", onClose);
    });
  }
}

function lastLineOf(text) {
  const lines = text.trim().split("\n");
  return lines.find((line) => /Error/.test(line)) ?? lines.at(-1);
}
