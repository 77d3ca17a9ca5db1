/**
 * A single pipe for both outputs of a process, which keeps their order, or for one of the outputs.
 *
 * Node gives a process a separate socket for each output. Their order is then lost, a command cannot open `/dev/stderr`, and an
 * editor that reads from standard error waits forever. So this is a named pipe, whose name is removed as soon as the pipe is open.
 * If no pipe can be created, for example because no folder is writable, the process gets Node's sockets.
 */
import { type ChildProcess, execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";

export type OutputPipe = {
  /** The entry for the process's outputs in `stdio` of `spawn`. */
  readonly end: number | "pipe";
  /** Reads all output of the process. @returns when every process has closed its end */
  readFrom(child: ChildProcess, add: (bytes: Uint8Array) => void): Promise<void>;
  /** Stops reading. */
  close(): void;
};

type OutputName = "stdout" | "stderr";

/** @param outputs the outputs that are read from the pipe */
export async function createOutputPipe(outputs: readonly OutputName[]): Promise<OutputPipe> {
  const pipeEnds = await openNamedPipe().catch(() => null);
  return pipeEnds === null ? createSockets(outputs) : createNamedPipe(pipeEnds);
}

type PipeEnds = { readonly read: number; readonly write: number };

async function openNamedPipe(): Promise<PipeEnds> {
  const folder = await mkdtemp(join(tmpdir(), "pawl-output-"));
  try {
    const path = join(folder, "pipe");
    await promisify(execFile)("mkfifo", ["-m", "600", path]);
    // Without O_NONBLOCK, each end would wait for the other.
    const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return { read, write: openSync(path, constants.O_WRONLY) };
    } catch (error) {
      closeSync(read);
      throw error;
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function createNamedPipe({ read, write }: PipeEnds): OutputPipe {
  const stream = new Socket({ fd: read, readable: true, writable: false });
  let isWritable = true;
  const closeWriteEnd = () => {
    if (isWritable) closeSync(write);
    isWritable = false;
  };
  return {
    end: write,
    readFrom(_child, add) {
      closeWriteEnd();
      return readUntilClosed(stream, add);
    },
    close() {
      closeWriteEnd();
      stream.destroy();
    },
  };
}

function createSockets(outputs: readonly OutputName[]): OutputPipe {
  let streams: readonly Readable[] = [];
  return {
    end: "pipe",
    async readFrom(child, add) {
      streams = outputs.map((name) => child[name]).filter((stream) => stream !== null);
      await Promise.all(streams.map((stream) => readUntilClosed(stream, add)));
    },
    close() {
      for (const stream of streams) stream.destroy();
    },
  };
}

function readUntilClosed(stream: Readable, add: (bytes: Uint8Array) => void): Promise<void> {
  stream.on("data", add);
  // An error ends the output. The exit code shows how the program ended.
  stream.on("error", () => {});
  return new Promise((resolve) => stream.once("close", resolve));
}
