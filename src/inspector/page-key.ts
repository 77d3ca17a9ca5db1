/**
 * How the page is let in. The link that `pawl ui` prints has a code in its fragment, which is good once. The page takes it
 * out of the history, and gets a cookie and a second half for it. The half stays in this browser.
 */
import { type Api, ApiError } from "./api.js";
import type { Access } from "./state/app-state.js";

export type PageKey = {
  readonly half: () => string | null;
  readonly forget: () => void;
  /** Exchanges the code of the link, if there is one. Says whether the page is let in, as far as it is known by now. */
  readonly enter: (api: Api) => Promise<Access>;
  /** Whom the page acts as, and whom its link is for, after `enter` has said `other_login`. */
  readonly otherLogin: () => { readonly from: string; readonly to: string } | null;
  /** Takes the login of the link, or keeps the present one. */
  readonly choose: (api: Api, choice: "link" | "present") => Promise<Access>;
};

type Exchanged = { readonly half: string } | { readonly from: string; readonly to: string };

/** @param base one browser may have the pages of several servers of one origin */
export function createPageKey(base: string): PageKey {
  const name = `pawl.page${base}`;
  let asked: { readonly code: string; readonly from: string; readonly to: string } | null = null;

  async function exchange(api: Api, body: { readonly code: string; readonly replace?: true }): Promise<Access> {
    const given = await api.enter<Exchanged>("/v1/ui/session", body);
    if ("half" in given) {
      asked = null;
      localStorage.setItem(name, given.half);
      return "in";
    }
    asked = { code: body.code, ...given };
    return "other_login";
  }

  return {
    otherLogin: () => asked,
    async choose(api, choice) {
      if (asked === null || choice === "present") return "in";
      try {
        return await exchange(api, { code: asked.code, replace: true });
      } catch {
        return "used";
      }
    },
    half: () => localStorage.getItem(name),
    forget: () => localStorage.removeItem(name),
    async enter(api) {
      const code = /^#start=([\w-]{20,100})$/.exec(location.hash)?.[1];
      if (code === undefined) return localStorage.getItem(name) === null ? "no_key" : "in";
      history.replaceState(null, "", `${location.pathname}#/`);
      try {
        return await exchange(api, { code });
      } catch (error) {
        // The link was opened before. If that was here, the page has its key already.
        if (localStorage.getItem(name) !== null) return "in";
        return error instanceof ApiError && error.status === 401 ? "used" : "refused";
      }
    },
  };
}
