/**
 * The files of examples/deploy: their fields, and their commands, started as processes on a real database. There is no container here.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { createToken } from "../../src/server/index.js";
import { waitUntil } from "../processes/rig.js";
import { createDatabase, hasPostgres, usePostgres } from "../support/postgres.js";
import { freePorts } from "../support/restate.js";
import { verifies } from "../verifies.js";
import { composeShape, kubernetesShapes, problemsOf } from "./shapes.js";

const folder = resolve("examples/deploy");
const read = (file: string) => readFileSync(join(folder, file), "utf8");
// biome-ignore lint/suspicious/noExplicitAny: the files of other programs
const compose: any = parse(read("compose.yaml"), { merge: true });
// biome-ignore lint/suspicious/noExplicitAny: the files of other programs
const kubernetes: readonly any[] = parseAllDocuments(read("kubernetes.yaml")).map((document) => document.toJS());

describe("the files", verifies("DIST-4"), () => {
  test("of Compose and Kubernetes have known fields only", () => {
    expect(problemsOf(compose, composeShape)).toEqual([]);
    for (const object of kubernetes) {
      const shape = kubernetesShapes[object.kind];
      expect(shape === undefined ? [`${object.kind} is unknown`] : problemsOf(object, shape)).toEqual([]);
    }
    expect(kubernetes.map(({ kind }) => kind)).toEqual(["Job", "Deployment", "Service", "PodDisruptionBudget"]);
  });

  test("name each other's parts by the names that these have", () => {
    for (const { depends_on: needed = {} } of Object.values<{ readonly depends_on?: object }>(compose.services))
      for (const name of Object.keys(needed)) expect(Object.keys(compose.services)).toContain(name);
    const [, deployment, service, budget] = kubernetes;
    const { labels } = deployment.spec.template.metadata;
    expect([deployment.spec.selector.matchLabels, service.spec.selector, budget.spec.selector.matchLabels]).toEqual([
      labels,
      labels,
      labels,
    ]);
    const [{ ports }] = deployment.spec.template.spec.containers;
    expect(service.spec.ports[0].targetPort).toBe(ports[0].name);
    expect(deployment.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(5);
  });

  test("have fields that a slip is found in", () => {
    const slip = {
      ...compose,
      services: { service: { ...compose.services.service, comand: ["node"], restart: "never" } },
    };
    expect(problemsOf(slip, composeShape)).toEqual([
      '.services.service.restart is "never"',
      ".services.service.comand is unknown",
    ]);
  });

  const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;
  if (!hasSystemd) console.warn("systemd-analyze is not installed, so the units are not verified.");

  test.runIf(hasSystemd)("of systemd are verified by systemd", () => {
    const units = mkdtempSync(join(tmpdir(), "pawl-units-"));
    onTestFinished(() => rmSync(units, { recursive: true }));
    cpSync(join(folder, "systemd"), units, { recursive: true });
    const verify = () => {
      const files = readdirSync(units).map((unit) => join(units, unit));
      const { status, stderr } = spawnSync("systemd-analyze", ["verify", ...files], { encoding: "utf8" });
      return { status, said: stderr.split("\n").filter((line) => line.includes(units) || line.includes("pawl")) };
    };
    expect(verify()).toEqual({ status: 0, said: [] });
    writeFileSync(join(units, "pawl@.service"), read("systemd/pawl@.service").replace("ExecStart=", "ExecStrat="));
    expect(verify().said.join("\n")).toContain("ExecStrat");
  });
});

/** The words of a unit's ExecStart, without `env`. */
function started(unit: string): readonly string[] {
  const line = /^ExecStart=\/usr\/bin\/env (.*)$/m.exec(read(`systemd/${unit}`))?.[1] ?? "";
  return line.split(" ");
}

test("all three ways start the same programs", verifies("DIST-4"), () => {
  const [job, deployment] = kubernetes;
  const migrations = [started("pawl-migrate.service"), job.spec.template.spec.containers[0].command];
  expect(migrations).toEqual([compose.services.migrate.command, compose.services.migrate.command]);
  const services = [started("pawl@.service"), deployment.spec.template.spec.containers[0].command];
  expect(services).toEqual([compose.services.service.command, compose.services.service.command]);
  expect(read("Dockerfile")).toContain(`CMD ${JSON.stringify(compose.services.service.command).replace(",", ", ")}`);
});

describe.runIf(hasPostgres)("the commands", verifies("DIST-4"), () => {
  const database = usePostgres(["fsync=off"]);

  /** The folder that the Dockerfile fills: the program, compiled, and Pawl among its packages. */
  async function install(): Promise<string> {
    const app = mkdtempSync(join(tmpdir(), "pawl-deploy-"));
    onTestFinished(() => rmSync(app, { recursive: true }));
    mkdirSync(join(app, "node_modules"));
    symlinkSync(resolve("."), join(app, "node_modules/pawl"));
    writeFileSync(join(app, "package.json"), JSON.stringify({ type: "module" }));
    const build = await rolldown({ input: join(folder, "service.ts"), external: /^[^./]/, platform: "node" });
    await build.write({ file: join(app, "built/service.js"), format: "esm" });
    await build.close();
    return app;
  }

  test("migrate, serve, tell that they are ready, and hand over on SIGTERM", async () => {
    const app = await install();
    const PAWL_STORE = await createDatabase(database());
    const PAWL_TOKEN = createToken();
    const environment = { PATH: process.env.PATH, HOME: app, PAWL_HOME: app, PAWL_STORE, PAWL_TOKEN };
    const [program, ...words] = compose.services.migrate.command;
    expect(spawnSync(program, words, { cwd: app, env: environment }).status).toBe(0);

    const ports = await freePorts(2);
    const start = async (port: number | undefined): Promise<ChildProcess> => {
      const [node, ...file] = compose.services.service.command;
      const env = { ...environment, PORT: String(port), HOSTS: `localhost:${port}` };
      const child = spawn(node, file, { cwd: app, env, stdio: ["ignore", "pipe", "inherit"] });
      onTestFinished(() => void child.kill("SIGKILL"));
      await once(createInterface(child.stdout), "line");
      return child;
    };
    const [first] = await Promise.all(ports.map(start));
    // biome-ignore lint/suspicious/noExplicitAny: answers of all routes
    const ask = async (at: number, path: string, body?: unknown): Promise<any> => {
      const headers = { authorization: `Bearer ${PAWL_TOKEN}`, "content-type": "application/json" };
      const post = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      return (await fetch(`http://localhost:${ports[at]}${path}`, { headers, ...post })).json();
    };

    const [, probe, ...argument] = compose.services.service.healthcheck.test;
    const isReady = () =>
      promisify(execFile)(
        probe,
        argument.map((word: string) => word.replace("4111", String(ports[0]))),
      ).then(
        () => true,
        () => false,
      );
    expect(await isReady()).toBe(true);

    const begun = await ask(0, "/v1/sessions", { agent: "support", input: "Refund 100 euros of order 1041" });
    const path = `/v1/sessions/${begun.sessionId}`;
    await waitUntil(
      async () => ["awaiting_human", "completed"].includes((await ask(0, path)).status),
      "the run goes on",
    );

    const ended = first === undefined ? null : once(first, "exit");
    first?.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    expect(await isReady()).toBe(false);
    for (const { callKey, inputHash } of (await ask(1, "/v1/approvals")).approvals)
      await ask(1, `${path}/answers`, { callKey, inputHash, decision: { type: "approve" } });
    await waitUntil(async () => (await ask(1, path)).status === "completed", "nobody carries the run on");
  });
});
