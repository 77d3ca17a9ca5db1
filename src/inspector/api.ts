/**
 * Requests to the server that this page comes from. The page has a cookie, which no script reads, and a second half, which
 * goes into a header. Nothing else leaves the page.
 */

/** The server refused, or was not reached (`status` 0). `message` is for people. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export type Query = { readonly [name: string]: string | number | undefined };

export type Api = {
  readonly get: <Answer>(path: string, query?: Query) => Promise<Answer>;
  /** @param key an `Idempotency-Key`: a request that is repeated counts once */
  /** What is no JSON, as text. */
  readonly text: (path: string) => Promise<string>;
  readonly post: <Answer>(path: string, body: object, key?: string) => Promise<Answer>;
  /** The address of a path, for the stream. */
  readonly url: (path: string, query?: Query) => string;
  readonly headers: () => { readonly [name: string]: string };
};

/**
 * @param base the path under which the server is mounted
 * @param half the second half; null: none yet
 */
export function createApi(base: string, half: () => string | null, onRefused: () => void): Api {
  const url = (path: string, query: Query = {}): string => {
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined || value === "" ? [] : [`${name}=${encodeURIComponent(value)}`],
    );
    return `${base}${path}${given.length === 0 ? "" : `?${given.join("&")}`}`;
  };
  const headers = (): { readonly [name: string]: string } => {
    const own = half();
    return own === null ? {} : { "x-pawl-page": own };
  };

  async function ask<Answer>(address: string, init: RequestInit): Promise<Answer> {
    const text = await read(address, init);
    return (text === null ? undefined : parsed(text)) as Answer;
  }

  /** Null: the answer has no content. */
  async function read(address: string, init: RequestInit): Promise<string | null> {
    const response = await fetch(address, { ...init, credentials: "same-origin", cache: "no-store" }).catch(() => {
      throw new ApiError(0, "unreachable", "The server does not answer.");
    });
    if (response.status === 204) return null;
    const text = await response.text();
    if (response.ok) return text;
    if (response.status === 401) onRefused();
    const { code = "internal", message = `The server answered ${response.status}.` } = errorIn(parsed(text));
    throw new ApiError(response.status, code, message);
  }

  return {
    url,
    headers,
    get: (path, query) => ask(url(path, query), { headers: headers() }),
    text: async (path) => (await read(url(path), { headers: headers() })) ?? "",
    post: (path, body, key) =>
      ask(url(path), {
        method: "POST",
        headers: {
          ...{ ...headers(), "content-type": "application/json" },
          ...(key === undefined ? {} : { "idempotency-key": key }),
        },
        body: JSON.stringify(body),
      }),
  };
}

export function messageOf(error: unknown): string {
  if (error instanceof ApiError && error.code === "forbidden") return `You may not see this. ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function errorIn(answer: unknown): { readonly code?: string; readonly message?: string } {
  const { error } = (answer ?? {}) as { readonly error?: { readonly code?: string; readonly message?: string } };
  return error ?? {};
}
