/**
 * Sends the requests of this process through the proxies of `HTTPS_PROXY` and `HTTP_PROXY`: model calls, MCP servers over HTTP,
 * and everything else that uses the global `fetch`. `fetch_url` makes its own requests.
 *
 * Node supports this only from version 24 on, and not by default. undici is loaded with the first request.
 */
import type { Agent, Dispatcher } from "undici";
import { describeProxy, findProxy, type HttpProxy, hasProxy, type ProxyEnvironment } from "../../tools/web/proxy.js";

type Undici = typeof import("undici").default;
type Connect = NonNullable<Agent.Options["connect"]>;

let isInstalled = false;

/** @throws PawlError `bad_configuration` if a variable does not name a usable proxy */
export function installProxies(env: ProxyEnvironment): void {
  if (!hasProxy(env) || isInstalled) return;
  isInstalled = true;
  const originalFetch = globalThis.fetch;
  let loading: Promise<void> | null = null;
  globalThis.fetch = async (input, init) => {
    loading ??= installDispatcher(env);
    await loading;
    return originalFetch(input, init);
  };
}

async function installDispatcher(env: ProxyEnvironment): Promise<void> {
  const { default: undici } = await import("undici");
  const { Agent, Pool, setGlobalDispatcher } = undici;
  const factory = (origin: string | URL, options: object): Dispatcher => {
    const url = new URL(origin);
    const proxy = findProxy(url, env);
    return proxy === null ? new Pool(url.origin, options) : createProxyDispatcher(undici, proxy, url);
  };
  setGlobalDispatcher(new Agent({ factory }));
}

/** For https, a tunnel. For http, the proxy gets the whole URL, because many proxies open tunnels only to port 443. */
function createProxyDispatcher({ Pool, ProxyAgent }: Undici, proxy: HttpProxy, { protocol }: URL): Dispatcher {
  return new ProxyAgent({
    uri: proxy.url.href,
    proxyTunnel: protocol === "https:",
    ...(proxy.authorization === undefined ? {} : { token: proxy.authorization }),
    clientFactory: (url, options: { readonly connect?: Connect }) =>
      new Pool(url.origin, {
        ...options,
        ...(options.connect === undefined ? {} : { connect: withProxyInErrors(options.connect, proxy) }),
      }),
  });
}

/** Makes errors say that the proxy could not be reached. */
function withProxyInErrors(connect: Connect, proxy: HttpProxy): Connect {
  if (typeof connect !== "function") return connect;
  return (options, done) =>
    connect(options, (...[error, socket]) => {
      if (error === null) return done(null, socket);
      const message = `${describeProxy(proxy)} could not be reached: ${error.message}`;
      const { code } = error as NodeJS.ErrnoException;
      return done(Object.assign(new Error(message, { cause: error.cause }), code === undefined ? {} : { code }), null);
    });
}
