/**
 * One contender on one workload, in a process of its own: `node --expose-gc child.mjs CONTENDER WORKLOAD OPTIONS`.
 * It warms up, says `ready`, and then measures once for each message, so that contenders can take turns.
 */
import { workloads } from "./workloads.mjs";

const [contender, workload, options] = process.argv.slice(2);

process.on("disconnect", () => process.exit(0));
try {
  const { open, release = () => {} } = await import(`./adapters/${contender}.mjs`);
  const measure = await workloads[workload](open, JSON.parse(options));
  process.on("message", () => {
    measureAndRelease().then((result) => process.send({ result }), fail);
  });
  process.send({ ready: true });

  /** Releases what an adapter keeps between calls of `open`, so that it does not disturb the next contender. */
  async function measureAndRelease() {
    const result = await measure();
    await release();
    return result;
  }
} catch (error) {
  fail(error);
}

function fail(error) {
  process.send({ failure: error instanceof Error ? error.message : String(error) }, () => process.exit(1));
}
