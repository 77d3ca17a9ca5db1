/** The file agent.ts of docs/guide/serverless.md, as the page's other files import it. */
declare module "*/agent" {
  export const createSupport: () => import("pawl").Agent;
  export function workFor(ms: number): Promise<void>;
}
declare module "*/agent.js" {
  export function workFor(ms: number): Promise<void>;
}
