/**
 * A client of MCP that knows tasks. The requests are written by hand, because the package of the MCP project does not know tasks.
 */

type Reply = {
  // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the method
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
};

const declared = { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } };

/** A client that sends one request at a time. */
export function createTaskCaller(url: string, token: string, clientCapabilities: object = declared) {
  return async (method: string, params: { readonly [name: string]: unknown }): Promise<Reply> => {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": clientCapabilities,
    };
    const response = await fetch(new URL("/mcp", url), {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": String(params.taskId ?? params.name),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
    });
    const text = await response.text();
    const [, data = text] = /^data: (.*)$/m.exec(text) ?? [];
    return JSON.parse(data);
  };
}
