/** As much of Express as the guide uses; the package has no types. */
declare module "express" {
  import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

  type Handler = (request: IncomingMessage, response: ServerResponse) => void;
  type Express = RequestListener & {
    readonly use: (...handlers: readonly (string | Handler)[]) => void;
  };
  const express: (() => Express) & { readonly json: () => Handler };
  // biome-ignore lint/style/noDefaultExport: Express has one
  export default express;
}
