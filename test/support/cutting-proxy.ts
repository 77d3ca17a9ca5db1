/**
 * A TCP proxy before a PostgreSQL server, which cuts the connection of one chosen statement.
 *
 * A store sends a statement with its values in one write, and each statement commits by itself. So a connection that is cut before that
 * write is passed on has committed nothing, and one that is cut at the first byte of the answer has committed.
 */
import { connect, createServer, type Socket } from "node:net";

/**
 * When the connection is cut: `before` the statement reaches the server, `after` it was committed, or `meanwhile`: when the server
 * has it, and has not answered yet.
 */
export type Cut = "before" | "after" | "meanwhile";

export type CuttingProxy = {
  readonly port: number;
  /** Cuts the connection of the next statement that has this text. Resolves when that has happened. */
  readonly cut: (text: string, when: Cut) => Promise<void>;
  /** Cuts all connections. New ones are refused until `acceptConnections`. */
  readonly refuseConnections: () => void;
  readonly acceptConnections: () => void;
  /** Cuts all connections. New ones lead to this port. */
  readonly retarget: (port: number) => void;
  readonly close: () => Promise<void>;
};

type ArmedCut = { readonly text: string; readonly when: Cut; readonly onCut: () => void };

export async function startCuttingProxy(port: number): Promise<CuttingProxy> {
  let target = port;
  let armedCut: ArmedCut | null = null;
  let isShut = false;
  const sockets = new Set<Socket>();

  const server = createServer((client) => {
    if (isShut) return void client.destroy();
    const upstream = connect(target, "127.0.0.1");
    let cutOnReply: (() => void) | null = null;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
    }
    const cut = ({ onCut }: ArmedCut) => {
      client.destroy();
      upstream.destroy();
      onCut();
    };
    client.on("data", (chunk) => {
      const matchedCut = armedCut !== null && chunk.includes(armedCut.text) ? armedCut : null;
      if (matchedCut !== null) armedCut = null;
      if (matchedCut?.when === "before") return cut(matchedCut);
      upstream.write(chunk);
      if (matchedCut?.when === "after") cutOnReply = () => cut(matchedCut);
      if (matchedCut?.when === "meanwhile") {
        // The server goes on with the statement, and finds out when it answers.
        client.destroy();
        matchedCut.onCut();
      }
    });
    upstream.on("data", (chunk) => {
      if (cutOnReply !== null) cutOnReply();
      else if (!client.destroyed) client.write(chunk);
    });
    client.on("end", () => upstream.end());
    upstream.on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");

  return {
    port: address.port,
    cut: (text, when) =>
      new Promise((onCut) => {
        armedCut = { text, when, onCut };
      }),
    refuseConnections() {
      isShut = true;
      for (const socket of sockets) socket.destroy();
    },
    acceptConnections() {
      isShut = false;
    },
    retarget(other) {
      target = other;
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
