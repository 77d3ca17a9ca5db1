/**
 * Honest work in the sandbox: what people let agents do has to work in it.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { detectSandbox } from "../../../src/tools/sandbox/sandbox.js";
import { startForwardProxy } from "../../support/forward-proxy.js";
import { verifies } from "../../verifies.js";
import { createMachine, writeFiles } from "./machine.js";
import { registryAddress, startCompanyServer, startGitServer, startNpmRegistry, startPipIndex } from "./registries.js";

const has = (program: string) => {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

describe.runIf(detectSandbox() === "bubblewrap")("in the sandbox,", () => {
  test(
    "npm install fetches a package with its dependency, and again from the cache of the home",
    verifies("BOX-2"),
    async () => {
      const host = await startNpmRegistry();
      const machine = createMachine({
        "package.json": '{ "name": "x", "version": "1.0.0" }',
        ".npmrc": `registry=http://${host}/\n`,
      });
      const { run } = machine.open({ hosts: [host], addresses: [registryAddress] });
      const install = "npm install fast-check --no-audit --no-fund 2>&1";
      expect(await run(install)).toMatch(/added 2 packages[\s\S]*\(exit code 0\)$/);
      expect(await run("node -e 'console.log(typeof require(\"fast-check\").assert)'")).toBe("function\n(exit code 0)");
      // The cache of the commands' home is there for the next session, which reaches nothing.
      const next = machine.open();
      expect(await next.run(`rm -rf node_modules; ${install} --offline`)).toMatch(
        /added 2 packages[\s\S]*\(exit code 0\)$/,
      );
    },
  );

  test("npm install says at once which host the sandbox refuses", verifies("BOX-2"), async () => {
    const host = await startNpmRegistry();
    const machine = createMachine({ "package.json": "{}", ".npmrc": `registry=http://${host}/\n` });
    const said = await machine.open().run("npm install fast-check --no-audit --no-fund --fetch-retries=0 2>&1");
    expect(said).toMatch(new RegExp(`\\(exit code 1; the sandbox refused ${host}\\)$`));
  });

  test.runIf(has("pip3"))(
    "pip install fetches a package with its dependency into a venv",
    verifies("BOX-2"),
    async () => {
      const host = await startPipIndex();
      const { run } = createMachine().open({ hosts: [host], addresses: [registryAddress] });
      const pip = `"$(python3 -c "import sys; print(sys.executable)")" -m pip --python .venv/bin/python install --disable-pip-version-check -q -i http://${host}/simple --trusted-host ${registryAddress} pawl-one`;
      expect(
        await run(`python3 -m venv --without-pip .venv && ${pip} && .venv/bin/python -c "import pawl_one, pawl_two"`),
      ).toBe("pawl_one works\npawl_two works\n(exit code 0)");
    },
  );

  test("git clone fetches a repository by http", verifies("BOX-2"), async () => {
    const url = await startGitServer();
    const { run } = createMachine().open({ addresses: [registryAddress] });
    const clone = `git clone -q ${url} cloned && git -C cloned log --format=%s`;
    expect(await run(clone)).toContain(`the sandbox refused ${new URL(url).host}`);
    expect(await run({ command: clone, hosts: [new URL(url).host] })).toMatch(/^cloned\n\(exit code 0/);
  });

  test("test runners, workers and shared memory work", verifies("BOX-1"), async () => {
    const machine = createMachine({
      "a.test.mjs": 'import test from "node:test"; test("a", () => {});',
      "b.test.mjs":
        'import { Worker } from "node:worker_threads"; import test from "node:test"; test("b", (t, done) => void new Worker("1", { eval: true }).on("exit", () => done()));',
      "pool.py":
        "import multiprocessing\ndef double(n): return n * 2\nif __name__ == '__main__':\n    with multiprocessing.Pool(2) as pool: print(sum(pool.map(double, range(10))))\n",
      "unix.py":
        "import socket\ns = socket.socket(socket.AF_UNIX); s.bind('own.sock'); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect('own.sock'); print('connected')\n",
    });
    const { run } = machine.open();
    expect(await run("node --test 2>&1 | grep -E '^# (pass|fail)'")).toBe("# pass 2\n# fail 0\n(exit code 0)");
    expect(await run("python3 pool.py && python3 unix.py && nproc | grep -q .")).toBe("90\nconnected\n(exit code 0)");
  });

  test("tools of the home run, with what belongs to them", verifies("BOX-1"), async () => {
    const machine = createMachine();
    const node = ".nvm/versions/node/v1";
    writeFiles(machine.home, {
      [`${node}/lib/node_modules/npm/package.json`]: "{}",
      [`${node}/lib/node_modules/tool/cli.js`]: "console.log('a global tool');",
      ".cargo/bin/cargo": '#!/bin/sh\ncat "$RUSTUP_HOME/toolchain"\n',
      ".cargo/credentials.toml": "CANARY",
      ".rustup/toolchain": "the toolchain\n",
      "scripts/mine": "#!/bin/sh\necho a script\n",
      "scripts/../secret": "CANARY",
    });
    for (const path of [".cargo/bin/cargo", "scripts/mine"]) chmodSync(join(machine.home, path), 0o755);
    writeFiles(machine.home, { [`${node}/bin/.keep`]: "" });
    symlinkSync(process.execPath, join(machine.home, node, "bin/node"));
    symlinkSync("../lib/node_modules/tool/cli.js", join(machine.home, node, "bin/tool"));
    const path = [`${node}/bin`, ".cargo/bin", "scripts"].map((one) => join(machine.home, one)).join(":");
    vi.stubEnv("PATH", `${path}:${process.env.PATH}`);
    const { run } = machine.open();
    expect(await run(`cargo; mine; node ${machine.home}/${node}/bin/tool`)).toBe(
      "the toolchain\na script\na global tool\n(exit code 0)",
    );
    expect(
      await run(
        `cat ${machine.home}/.cargo/credentials.toml ${machine.home}/secret; echo x > ${machine.home}/.cargo/bin/cargo`,
      ),
    ).not.toContain("CANARY");
  });

  test("harmless settings of the person hold, and secrets in them are not there", verifies("BOX-1"), async () => {
    const machine = createMachine();
    writeFiles(machine.home, {
      ".gitconfig":
        '[user]\n name = Ada \\"the\\" Author\n email = ada@example.org\n[alias]\n evil = !cat CANARY\n[credential]\n helper = CANARY\n[http]\n extraHeader = CANARY\n[url "https://u:CANARY@x/"]\n insteadOf = https://x/\n',
      ".npmrc":
        "registry=https://registry.example.org/\n//registry.example.org/:_authToken=CANARY\n_password=CANARY\n@acme:registry=https://u:CANARY@acme.example/\n@other:registry=https://other.example/?t=$" +
        "{CANARY}\n",
      ".config/pip/pip.conf":
        "[global]\nindex-url = https://pypi.example.org/simple\nextra-index-url = https://u:CANARY@x/\n",
    });
    const { run } = machine.open();
    const said = await run(
      "git config --list --global; npm config get registry; cat $PIP_CONFIG_FILE $NPM_CONFIG_USERCONFIG; env",
    );
    expect(said).toContain('user.name=Ada "the" Author\nuser.email=ada@example.org\nhttps://registry.example.org/\n');
    expect(said).toContain("index-url = https://pypi.example.org/simple\n");
    expect(said).not.toContain("CANARY");
    expect(await run("git init -q . && git commit -q --allow-empty -m x && git log --format=%ae")).toMatch(
      /^ada@example.org\n/,
    );
  });

  test("cargo of this machine builds a program", verifies("BOX-1"), async () => {
    if (!has("cargo")) return;
    const machine = createMachine({
      "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
      "src/main.rs": 'fn main() { println!("built"); }\n',
    });
    expect(await machine.open().run("cargo run -q")).toBe("built\n(exit code 0)");
  });

  test("certificates of a company are found by their variables", verifies("BOX-2"), async () => {
    const machine = createMachine();
    const { host, certificate } = await startCompanyServer(machine.home);
    const options = { hosts: [host], addresses: [registryAddress] };
    const get = `curl -sS https://${host}/`;
    expect(await machine.open(options).run(get)).toMatch(/certificate[\s\S]*\(exit code 60\)$/);
    for (const name of ["CURL_CA_BUNDLE", "SSL_CERT_FILE", "GIT_SSL_CAINFO"]) vi.stubEnv(name, certificate);
    expect(await machine.open(options).run(get)).toBe("company page\n(exit code 0)");
  });

  test("a proxy with a password is used, and not shown to commands", verifies("BOX-2"), async () => {
    const host = await startNpmRegistry();
    const port = Number(host.split(":")[1]);
    const proxy = await startForwardProxy({ hosts: { "company.example": port }, credentials: "ada:CANARY" });
    vi.stubEnv("HTTP_PROXY", `http://ada:CANARY@127.0.0.1:${proxy.port}`);
    vi.stubEnv("http_proxy", undefined);
    const { run } = createMachine().open({ hosts: ["company.example"] });
    // The proxy of the test leads to 127.0.0.1, where nobody listens: it was asked, with the password.
    expect(await run("curl -sS -o /dev/null -w '%{http_code}' http://company.example/; env")).not.toContain("CANARY");
    expect(proxy.requested).toEqual(["GET http://company.example/"]);
    expect(await run("curl -sS -o /dev/null -w '%{http_code}' http://other.example/")).toMatch(/^403/);
    expect(proxy.requested).toHaveLength(1);
  });

  test(
    "a command that is prepared as read-only writes its home and /tmp, and no folder of the person",
    verifies("BOX-2"),
    async () => {
      const machine = createMachine({ "a.txt": "one\n" });
      execFileSync("git", ["init", "-q", machine.root]);
      const out = join(machine.base, "out");
      mkdirSync(out);
      const { sandbox, run: runWritable } = machine.open({ write: [out] });
      const prepare: typeof sandbox.prepare = (command, options) =>
        sandbox.prepare(command, { ...options, readOnly: true });
      const { run } = machine.open({}, { sandbox: { ...sandbox, prepare } });
      const attempts = ["touch b.txt", "rm a.txt", "mv a.txt c.txt", "touch .git/x", `touch ${out}/x`, "mkdir d"];
      for (const attempt of attempts)
        expect(await run(attempt), attempt).toMatch(/Read-only file system[\s\S]*\(exit code 1\)$/);
      expect(await run("cat a.txt && git status --short")).toBe("one\n?? a.txt\n(exit code 0)");
      expect(await run("echo kept > ~/x && mv ~/x /tmp/x && cat /tmp/x")).toBe("kept\n(exit code 0)");
      expect(readdirSync(machine.root).sort()).toEqual([".git", "a.txt"]);
      expect(readdirSync(out)).toEqual([]);
      expect(await runWritable(`touch b.txt ${out}/x`)).toBe("(no output)\n(exit code 0)");
    },
  );
});
