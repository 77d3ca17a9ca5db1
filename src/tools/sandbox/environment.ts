/**
 * The environment of commands in the sandbox: their own home and the proxy, without the names of the person's sockets.
 */
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { commandHome, commandSettings, type SandboxLayout } from "./bubblewrap-arguments.js";
import { settingsFiles } from "./copied-settings.js";
import { proxyPort } from "./session.js";
import type { ShownTools } from "./shown-tools.js";

/** The variables that name a company's certificates. They are paths, not secrets, and without them every TLS connection would fail. */
export const certificateVariables: readonly string[] = [
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE"],
  ...["GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE", "NIX_SSL_CERT_FILE", "NPM_CONFIG_CAFILE"],
];

export function findCertificates(environment: NodeJS.ProcessEnv): readonly string[] {
  return certificateVariables.flatMap((name) => {
    const path = environment[name] ?? "";
    return isAbsolute(path) && existsSync(path) ? [path] : [];
  });
}

/** Variables that the person has set are kept. */
function createSettingsVariables(base: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const variables = Object.entries(settingsFiles).filter(([, variable]) => base[variable] === undefined);
  return Object.fromEntries(variables.map(([name, variable]) => [variable, `${commandSettings}/${name}`]));
}

/** Variables that name the person's sockets and files. Commands never get them. */
const withheldNames =
  /^(SSH_AUTH_SOCK|SSH_AGENT_PID|DBUS_.*|DOCKER_HOST|KUBECONFIG|XDG_RUNTIME_DIR|WSL_INTEROP|XAUTHORITY)$/;
const proxyNames = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) => [name, name.toLowerCase()]);

export function createEnvironment(
  base: Readonly<Record<string, string>>,
  tools: ShownTools,
  { settings }: SandboxLayout,
  credentials: string,
): Readonly<Record<string, string>> {
  const proxy = `http://${credentials}@127.0.0.1:${proxyPort}`;
  const direct = "localhost,127.0.0.1,::1";
  const ownFolders = [".local/bin", ".cargo/bin", "go/bin"].map((name) => `${commandHome}/${name}`);
  return {
    ...tools.env,
    ...Object.fromEntries(Object.entries(base).filter(([name]) => !withheldNames.test(name))),
    ...(base.PATH === undefined ? {} : { PATH: [base.PATH, ...ownFolders].join(":") }),
    HOME: commandHome,
    TMPDIR: "/tmp",
    ...Object.fromEntries(proxyNames.map((name) => [name, proxy])),
    NO_PROXY: direct,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: "1",
    ...(settings === null ? {} : createSettingsVariables(base)),
  };
}
