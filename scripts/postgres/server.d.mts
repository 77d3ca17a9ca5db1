export type PostgresServer = {
  /** As the owner of all, to the database `postgres`. */
  readonly url: string;
  /** One statement or several as the owner of all, on a connection of its own. */
  readonly run: (text: string, database?: string) => Promise<readonly { readonly [column: string]: unknown }[]>;
  /** Ends the server at once, as a loss of power does; or only its first process (SIGKILL), so that the others find out by themselves. */
  readonly kill: (what?: "whole" | "postmaster") => Promise<void>;
  /** Starts it again on the same files and the same port. */
  readonly restart: () => Promise<void>;
  readonly close: () => Promise<void>;
};

export type Replica = PostgresServer & { readonly promote: () => Promise<void> };

export type PgBouncer = {
  readonly port: number;
  /** The address of the server, through the pooler. */
  readonly url: string;
  readonly kill: () => Promise<void>;
  /** Starts it again on the same port. */
  readonly restart: () => Promise<void>;
  readonly close: () => Promise<void>;
};

export function postgresPrograms(): string | null;
export function pgBouncerProgram(): string | null;
export function serverUser(): { readonly uid?: number; readonly gid?: number };
export function startPostgres(settings?: readonly string[]): Promise<PostgresServer>;
export function startReplica(primary: string, settings?: readonly string[]): Promise<Replica>;
export function startPgBouncer(server: string, options?: { readonly poolSize?: number }): Promise<PgBouncer>;
