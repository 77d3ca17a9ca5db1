/**
 * The Agent Client Protocol (version 1): durable sessions in an editor.
 *
 * 1. A session of the editor is a session of the store. A prompt is a run.
 * 2. A run continues when the connection ends. The next prompt, or any process, resumes interrupted work.
 */
import type {
  AgentConnection,
  AgentContext,
  ClientCapabilities,
  InitializeResponse,
  ListSessionsRequest,
  ListSessionsResponse,
  NewSessionRequest,
  PromptRequest,
  PromptResponse,
  Stream,
} from "@agentclientprotocol/sdk";
import { PawlError, type Store, type StreamItem } from "../../index.js";
import { type AcpAgent, cancelTurns, type OpenSession } from "./open-session.js";
import { toInput } from "./prompt-input.js";
import { replaySession } from "./replay-session.js";
import { type AcpSdk, toRequestError } from "./sdk.js";
import { runTurn } from "./turn.js";
import { createUpdateState } from "./updates.js";

export type AcpHost = {
  readonly store: Store;
  /** Identifies the agent to the editor. `name` is the agent whose sessions are listed. */
  readonly info: { readonly name: string; readonly title: string; readonly version: string };
  /**
   * Returns the agent for a folder.
   * @param session the session that is opened, and its model so far; null for a new session
   * @throws PawlError `bad_configuration` if there is no such folder
   */
  readonly agentFor: (
    folder: string,
    session: { readonly id: string; readonly model: string } | null,
  ) => Promise<AcpAgent>;
  readonly makeId: () => string;
  /** The person, whom the log records as the author of prompts and answers. */
  readonly by?: string;
  /** Masks secrets. Calls that need a person's decision are shown unmasked. */
  readonly redaction?: {
    readonly text: (text: string) => string;
    readonly stream: () => (item: StreamItem) => readonly StreamItem[];
  };
  /** Called with errors and warnings that cannot be part of a response, for the editor's log. */
  readonly report: (what: unknown) => void;
};

/** The maximum number of sessions that an editor may have open at once. */
const maxOpen = 1_000;
const listPageSize = 50;

export function serveAcp(sdk: AcpSdk, host: AcpHost, stream: Stream): AgentConnection {
  const openSessions = new Map<string, OpenSession>();
  let client: ClientCapabilities = {};

  const handleRequest =
    <Params, Response>(handle: (params: Params, client: AgentContext, signal: AbortSignal) => Promise<Response>) =>
    async (request: {
      readonly params: Params;
      readonly client: AgentContext;
      readonly signal: AbortSignal;
    }): Promise<Response> => {
      try {
        return await handle(request.params, request.client, request.signal);
      } catch (error) {
        throw toRequestError(sdk, error);
      }
    };

  async function loadSession(
    sessionId: string,
    request: Pick<NewSessionRequest, "cwd" | "mcpServers">,
    isNew: boolean,
  ) {
    if (openSessions.size >= maxOpen && !openSessions.has(sessionId))
      throw new PawlError(
        "bad_input",
        `The editor has ${maxOpen} open sessions, the maximum. Close one of them first.`,
      );
    if ((request.mcpServers?.length ?? 0) > 0)
      host.report("The editor's MCP servers are ignored: Pawl uses only its own tools.");
    const info = isNew ? null : await loadInfo(sessionId);
    const agent = await host.agentFor(request.cwd, info === null ? null : { id: sessionId, model: info.model });
    const root = agent.agent.options.root ?? request.cwd;
    if (info?.root !== undefined && info.root !== root)
      throw new PawlError(
        "root_mismatch",
        `The session ${sessionId} belongs to the folder ${info.root}, not to ${root}. Open it there.`,
      );
    const session = createOpenSession(sessionId, agent, root);
    openSessions.set(sessionId, session);
    return session;
  }

  function createOpenSession(id: string, agent: AcpAgent, root: string): OpenSession {
    return {
      id,
      agent,
      session: agent.agent.session(id),
      updates: createUpdateState({ root, client, contextWindow: agent.contextWindow }),
      by: host.by,
      makeId: host.makeId,
      redactText: host.redaction?.text ?? ((text) => text),
      redactStream: host.redaction?.stream ?? (() => (item) => [item]),
      report: host.report,
      turns: new Set(),
      lastTurn: Promise.resolve(),
      shownCursor: 0,
    };
  }

  async function loadInfo(sessionId: string) {
    const info = (await host.store.load(sessionId))?.state?.session;
    if (info == null) throw new PawlError("no_session", `There is no session ${sessionId}.`);
    return info;
  }

  function getOpenSession(sessionId: string): OpenSession {
    const found = openSessions.get(sessionId);
    if (found !== undefined) return found;
    throw new PawlError("no_session", `The session ${sessionId} is not open. Load or resume it first.`);
  }

  async function closeSession(sessionId: string): Promise<void> {
    const session = getOpenSession(sessionId);
    await cancelTurns(session, session.turns);
    await session.lastTurn;
    openSessions.delete(sessionId);
  }

  return sdk
    .agent({ name: host.info.name })
    .onRequest("initialize", ({ params }) => {
      client = params.clientCapabilities ?? {};
      return createInitializeResponse(sdk, host);
    })
    .onRequest(
      "session/new",
      handleRequest(async (params) => ({ sessionId: (await loadSession(host.makeId(), params, true)).id })),
    )
    .onRequest(
      "session/load",
      handleRequest(async (params, context) => {
        await replaySession(await loadSession(params.sessionId, params, false), context);
        return {};
      }),
    )
    .onRequest(
      "session/resume",
      handleRequest(async ({ mcpServers = [], ...params }) => {
        const session = await loadSession(params.sessionId, { ...params, mcpServers }, false);
        session.shownCursor = (await session.session.state()).seq;
        // The events so far are not read, so the cost is unknown.
        session.updates.spent.costUsd = null;
        return {};
      }),
    )
    .onRequest(
      "session/list",
      handleRequest((params) => listSessions(params, host)),
    )
    .onRequest(
      "session/close",
      handleRequest(({ sessionId }) => closeSession(sessionId)),
    )
    .onRequest(
      "session/prompt",
      handleRequest(
        async ({ sessionId, prompt }: PromptRequest, context, signal): Promise<PromptResponse> =>
          runTurn(getOpenSession(sessionId), toInput(prompt), context, signal),
      ),
    )
    .onNotification("session/cancel", async ({ params }) => {
      const session = openSessions.get(params.sessionId);
      if (session !== undefined) await cancelTurns(session, session.turns).catch(host.report);
    })
    .connect(stream);
}

function createInitializeResponse(sdk: AcpSdk, { info }: AcpHost): InitializeResponse {
  return {
    protocolVersion: sdk.PROTOCOL_VERSION,
    agentInfo: info,
    authMethods: [],
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, embeddedContext: true },
      sessionCapabilities: { list: {}, resume: {}, close: {} },
    },
  };
}

async function listSessions({ cwd, cursor }: ListSessionsRequest, host: AcpHost): Promise<ListSessionsResponse> {
  const after = cursor == null ? undefined : parseListCursor(cursor);
  const found = await host.store.list({
    agent: host.info.name,
    parent: null,
    limit: listPageSize,
    ...(cwd == null ? {} : { root: cwd }),
    ...(after === undefined ? {} : { after }),
  });
  const last = found.length === listPageSize ? found.at(-1) : undefined;
  const text = host.redaction?.text ?? ((title: string) => title);
  return {
    sessions: found.flatMap(({ sessionId, info, updatedAt }) =>
      info?.root === undefined
        ? []
        : [{ sessionId, cwd: info.root, title: text(info.title ?? ""), updatedAt: new Date(updatedAt).toISOString() }],
    ),
    ...(last === undefined ? {} : { nextCursor: `${last.updatedAt}/${last.sessionId}` }),
  };
}

function parseListCursor(cursor: string): { readonly updatedAt: number; readonly sessionId: string } {
  const [, updatedAt, sessionId] = /^(\d{1,16})\/(.+)$/s.exec(cursor) ?? [];
  if (updatedAt === undefined || sessionId === undefined)
    throw new PawlError("bad_input", "Invalid `cursor` of session/list. List from the start, without a cursor.");
  return { updatedAt: Number(updatedAt), sessionId };
}
