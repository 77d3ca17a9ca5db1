/**
 * What models cost.
 */

/** US dollars per million tokens. */
export type Rates = {
  /** Input that no cache had. */
  readonly input: number;
  /** Output. */
  readonly output: number;
  /** Input that was read from the provider's cache. Default: the rate of `input`. */
  readonly cacheRead?: number;
  /** Input that was written to the provider's cache. Default: the rate of `input`. */
  readonly cacheWrite?: number;
  /** Input that the provider keeps in its cache for an hour. Default: 1.6 times the rate of `cacheWrite`, as with Claude. */
  readonly cacheWrite1h?: number;
};

/** If a request has more input tokens than `long.over`, the rates of `long` apply to all of its tokens. */
export type Price = Rates & {
  /** The rates of long requests. */
  readonly long?: Rates & {
    /** Above so many input tokens. */
    readonly over: number;
  };
};

/** Prices by model id: `provider/model`. A dated id (`…-20260922`) falls back to the id without its date. */
export type PriceTable = { readonly [modelId: string]: Price };
