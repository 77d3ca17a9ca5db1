/**
 * The access of the page. The link that `pawl ui` prints has a code in its fragment, which is valid once. The page removes the code from
 * the history, and exchanges it for a cookie and a second half. The half stays in this browser.
 */
import { type Api, ApiError } from "./api.js";
import type { Access } from "./state/app-state.js";

export type PageKey = {
  readonly half: () => string | null;
  readonly forget: () => void;
  /** Exchanges the code of the link, if there is one. Resolves to the page's access, as far as it is known. */
  readonly signIn: (api: Api) => Promise<Access>;
  /** The login that the page acts as, and the login that its link is for, after `signIn` has returned `other_login`. */
  readonly otherLogin: () => { readonly from: string; readonly to: string } | null;
  /** Switches to the login of the link, or keeps the current one. */
  readonly chooseLogin: (api: Api, choice: "link" | "present") => Promise<Access>;
};

type ExchangeReply = { readonly half: string } | { readonly from: string; readonly to: string };

/** @param base distinguishes several servers on one origin in the same browser */
export function createPageKey(base: string): PageKey {
  const storageKey = `pawl.page${base}`;
  let pendingLogin: { readonly code: string; readonly from: string; readonly to: string } | null = null;

  async function redeemCode(api: Api, body: { readonly code: string; readonly replace?: true }): Promise<Access> {
    const reply = await api.postWithoutProof<ExchangeReply>("/v1/ui/session", body);
    if ("half" in reply) {
      pendingLogin = null;
      localStorage.setItem(storageKey, reply.half);
      return "in";
    }
    pendingLogin = { code: body.code, ...reply };
    return "other_login";
  }

  return {
    otherLogin: () => pendingLogin,
    async chooseLogin(api, choice) {
      if (pendingLogin === null || choice === "present") return "in";
      try {
        return await redeemCode(api, { code: pendingLogin.code, replace: true });
      } catch {
        return "used";
      }
    },
    half: () => localStorage.getItem(storageKey),
    forget: () => localStorage.removeItem(storageKey),
    async signIn(api) {
      const code = /^#start=([\w-]{20,100})$/.exec(location.hash)?.[1];
      if (code === undefined) return localStorage.getItem(storageKey) === null ? "no_key" : "in";
      history.replaceState(null, "", `${location.pathname}#/`);
      try {
        return await redeemCode(api, { code });
      } catch (error) {
        // The link was already opened. If it was opened in this browser, the page already has its key.
        if (localStorage.getItem(storageKey) !== null) return "in";
        return error instanceof ApiError && error.status === 401 ? "used" : "refused";
      }
    },
  };
}
