/**
 * The command line with its sessions in a PostgreSQL database: `--store` and `PAWL_STORE`.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createGate, createWorld, parseJsonLines } from "../cli/pawl.js";
import { createDatabase, hasPostgres, usePostgres } from "../support/postgres.js";
import { verifies } from "../verifies.js";

const files = { "notes.txt": "colour\n" };
const replace = 'Replace "colour" with "color" in notes.txt';

describe.runIf(hasPostgres)("pawl with a PostgreSQL database", () => {
  const server = usePostgres(["fsync=off"]);

  test(
    "migrate, grants, a run by a role with these, an answer, a worker, and doctor",
    verifies("DIST-1#kills", "SEC-19#database"),
    async () => {
      const world = createWorld(files);
      const url = await createDatabase(server());
      const database = url.split("/").at(-1) ?? "";
      const made = await world.pawl(["postgres", "migrate", "--store", url]);
      expect(made).toMatchObject({ code: 0, stdout: "Created the tables: version 5.\n" });
      const again = await world.pawl(["postgres", "migrate", "--json"], { env: { PAWL_STORE: url } });
      expect(parseJsonLines(again.stdout)).toEqual([{ from: 5, to: 5 }]);
      const { stdout: grants } = await world.pawl(["postgres", "grants", "app"]);
      await server().run(`CREATE ROLE app LOGIN; ${grants}`, database);

      const env = { PAWL_STORE: url.replace("pawl@", "app@") };
      const parked = await world.pawl(["run", replace, "--session", "asking", "--park"], { env });
      expect(parked.code).toBe(3);
      const gate = createGate(world.root, "gate");
      const args = ["run", `run: ${gate.command}`, "--session", "cut-off", "--yes", "--allow-shell"];
      const running = world.start(args, { env, input: "" });
      await gate.begun(running);
      running.kill("SIGKILL");
      await running.ended;

      const listed = await world.pawl(["approvals", "--json", "--store", env.PAWL_STORE]);
      expect(parseJsonLines(listed.stdout)).toHaveLength(1);
      expect((await world.pawl(["approve", "asking"], { env })).code).toBe(0);
      expect((await world.pawl(["worker", "--once"], { env })).code).toBe(0);
      const sessions = parseJsonLines((await world.pawl(["sessions", "--json"], { env })).stdout);
      expect(sessions.map(({ sessionId, status }) => `${sessionId} ${status}`).toSorted()).toEqual([
        "asking completed",
        "cut-off completed",
      ]);
      expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("color\n");
      const copy = await world.pawl(["sessions", "export", "--raw", "--all"], { env });
      const file = createWorld(files);
      expect((await file.pawl(["sessions", "import"], { input: copy.stdout })).code).toBe(0);
      expect((await file.pawl(["sessions", "export", "--raw", "--all"])).stdout).toBe(copy.stdout);
      const doctor = await world.pawl(["doctor", "--json"], { env });
      expect(doctor.code).toBe(0);
      const [{ checks }] = parseJsonLines(doctor.stdout) as [
        { checks: { name: string; status: string; what: string }[] },
      ];
      const check = (name: string) => checks.find((one) => one.name === name);
      expect(check("sessions")).toMatchObject({ status: "ok", what: "2 sessions in the database" });
      expect(check("postgres")).toMatchObject({
        status: "ok",
        what: expect.stringMatching(/^PostgreSQL \d.*tables 5, log format 2/),
      });
      expect(check("writing")).toMatchObject({ status: "ok", what: expect.stringMatching(/^a synced write took/) });
      expect(check("sqlite")).toBeUndefined();
      expect(existsSync(join(world.home, "sessions.db"))).toBe(false);
    },
  );

  test("an address that cannot be used is refused, and its password is shown nowhere", verifies("SEC-14"), async () => {
    const world = createWorld(files);
    const secret = "hunter2secret";
    for (const [address, code, message] of [
      [`mysql://me:${secret}@host/db`, 2, "postgres://user@host/database"],
      [`postgres://me:${secret}@127.0.0.1:1/db`, 5, "could not be opened"],
    ] as const)
      for (const args of [
        ["sessions", "--store", address],
        ["doctor", "--store", address],
      ]) {
        const { code: ended, stdout, stderr } = await world.pawl(args);
        expect(ended).toBe(args[0] === "doctor" ? 5 : code);
        expect(stdout + stderr).toContain(message);
        expect(stdout + stderr).not.toContain(secret);
      }
    const unnamed = await world.pawl(["postgres", "migrate"]);
    expect(unnamed).toMatchObject({ code: 2, stderr: expect.stringContaining("PAWL_STORE") });
  });
});
