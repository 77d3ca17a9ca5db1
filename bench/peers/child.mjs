/**
 * One contender on one workload, in a process of its own: `node --expose-gc child.mjs CONTENDER WORKLOAD OPTIONS`. It warms up, says
 * `ready`, and then measures once for each message, so that contenders can take turns.
 */
import { workloads } from "./workloads.mjs";

const [contender, workload, options] = process.argv.slice(2);

process.on("disconnect", () => process.exit(0));
try {
  const { open } = await import(`./adapters/${contender}.mjs`);
  const measure = await workloads[workload](open, JSON.parse(options));
  process.on("message", () => {
    measure().then((result) => process.send({ result }), fail);
  });
  process.send({ ready: true });
} catch (error) {
  fail(error);
}

function fail(error) {
  process.send({ failure: error instanceof Error ? error.message : String(error) }, () => process.exit(1));
}
