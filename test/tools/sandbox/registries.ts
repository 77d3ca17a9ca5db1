/**
 * Registries of packages and a Git server on this machine, at an address that commands can be allowed to reach. They serve real packages: those of
 * this repository's own dependencies for npm, and two that are built here for pip.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Loopback addresses other than 127.0.0.1 are reached through the proxy. */
export const registryAddress = "127.0.0.2";

function createScratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "pawl-registry-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function serve(
  listener: RequestListener,
  tls?: { readonly key: Buffer; readonly cert: Buffer },
): Promise<string> {
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener);
  server.listen(0, registryAddress);
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `${registryAddress}:${(server.address() as AddressInfo).port}`;
}

/** A registry of npm with packages of node_modules. @returns its host and port */
export async function startNpmRegistry(): Promise<string> {
  const folder = createScratch();
  return await serve((request, response) => {
    const [, name = "", file] =
      /^\/((?:@[^/]+\/)?[^/]+)(?:\/-\/(.+\.tgz))?$/.exec(decodeURIComponent(request.url ?? "")) ?? [];
    const source = join("node_modules", name);
    if (!existsSync(join(source, "package.json"))) {
      response.writeHead(404).end("{}");
      return;
    }
    const tarball = join(folder, `${name.replace("/", "-")}.tgz`);
    if (!existsSync(tarball))
      execFileSync("tar", ["-czf", tarball, "--transform", "s,^\\.,package,", "-C", source, "."]);
    const bytes = readFileSync(tarball);
    if (file !== undefined) {
      response.end(bytes);
      return;
    }
    const about = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
    const { version, dependencies = {} } = about;
    const dist = {
      tarball: `http://${request.headers.host}/${name}/-/${name.split("/").at(-1)}-${version}.tgz`,
      integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
    };
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        name,
        "dist-tags": { latest: version },
        versions: { [version]: { name, version, dependencies, dist } },
      }),
    );
  });
}

/** An index of pip with a package `pawl-one` that needs `pawl-two`. */
export async function startPipIndex(): Promise<string> {
  const folder = createScratch();
  const code = `
import zipfile, sys
for name, needs in (("pawl_one", "Requires-Dist: pawl-two\\n"), ("pawl_two", "")):
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}-1.0-py3-none-any.whl", "w") as wheel:
        info = f"{name}-1.0.dist-info"
        wheel.writestr(f"{name}.py", f"print('{name} works')\\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n{needs}")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")`;
  execFileSync("python3", ["-c", code, folder]);
  return await serve((request, response) => {
    const [, name = ""] = /^\/simple\/([a-z-]+)\/$/.exec(request.url ?? "") ?? [];
    const wheel = `${name.replace("-", "_")}-1.0-py3-none-any.whl`;
    if (name !== "") {
      response.setHeader("content-type", "text/html");
      response.end(`<a href="/files/${wheel}">${wheel}</a>`);
      return;
    }
    response.end(readFileSync(join(folder, (request.url ?? "").replace("/files/", ""))));
  });
}

/** A repository that is cloned by http. @returns its URL */
export async function startGitServer(): Promise<string> {
  const folder = createScratch();
  const source = join(folder, "source");
  mkdirSync(source);
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", ...args], {
      cwd: folder,
    });
  git("init", "-q", source);
  git("-C", source, "commit", "-q", "--allow-empty", "-m", "cloned");
  git("clone", "-q", "--bare", source, "bare.git");
  git("-C", "bare.git", "update-server-info");
  const host = await serve((request, response) => {
    const path = join(folder, new URL(request.url ?? "/", "http://x").pathname);
    if (!path.startsWith(join(folder, "bare.git")) || !existsSync(path) || !statSync(path).isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.end(readFileSync(path));
  });
  return `http://${host}/bare.git`;
}

/** A server whose certificate only this machine's person trusts. @param folder where the certificate is put */
export async function startCompanyServer(
  folder: string,
): Promise<{ readonly host: string; readonly certificate: string }> {
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "ca.pem")];
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-days",
      "2",
      "-subj",
      "/CN=company",
      "-addext",
      `subjectAltName=IP:${registryAddress}`,
      "-keyout",
      key,
      "-out",
      certificate,
    ],
    { stdio: "ignore" },
  );
  const tls = { key: readFileSync(key), cert: readFileSync(certificate) };
  rmSync(key);
  return { host: await serve((_request, response) => response.end("company page"), tls), certificate };
}
