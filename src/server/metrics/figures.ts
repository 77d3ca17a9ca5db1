/**
 * Counters and histograms, in the text format of Prometheus (0.0.4).
 *
 * 1. The labels of a figure are few: agents, models and tools beyond `maxSeries` combinations are counted as `other`.
 * 2. Times are in seconds. A name says its unit, and a counter's name ends in `_total`.
 */

/** The values of a sample's labels, by name, in the order in which they are written. */
export type Labels = { readonly [name: string]: string };

export type Counter = {
  /** @param by 0 or more */
  readonly add: (labels: Labels, by?: number) => void;
};

export type Histogram = {
  readonly observe: (labels: Labels, value: number) => void;
};

export type Figures = {
  readonly counter: (name: string, about: string) => Counter;
  /** @param bounds the upper bounds of the buckets, in ascending order, without infinity */
  readonly histogram: (name: string, about: string, bounds: readonly number[]) => Histogram;
  /** All figures, in the order in which they were made. */
  readonly text: () => string;
};

/** The content type of the format. */
export const contentType = "text/plain; version=0.0.4; charset=utf-8";

/** The most combinations of labels of one figure. Prometheus keeps a time series for each. */
export const maxSeries = 1_000;

const maxLabelCharacters = 200;

/** The labels whose values are not from a closed set. */
const openLabels: ReadonlySet<string> = new Set(["agent", "model", "tool"]);

export function createFigures(): Figures {
  const families: (() => string)[] = [];
  return {
    counter(name, about) {
      const series = createSeries(() => ({ value: 0 }));
      families.push(() =>
        family(
          name,
          "counter",
          about,
          series.lines((labels, { value }) => sample(name, labels, value)),
        ),
      );
      return {
        add(labels, by = 1) {
          series.of(labels).value += by;
        },
      };
    },
    histogram(name, about, bounds) {
      // The last bucket has what is above every bound.
      const series = createSeries(() => ({ counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 }));
      families.push(() =>
        family(
          name,
          "histogram",
          about,
          series.lines((labels, { counts, sum }) => buckets(name, labels, bounds, counts, sum)),
        ),
      );
      return {
        observe(labels, value) {
          const one = series.of(labels);
          const index = bounds.findIndex((bound) => value <= bound);
          const bucket = index === -1 ? bounds.length : index;
          one.counts[bucket] = (one.counts[bucket] ?? 0) + 1;
          one.sum += value;
        },
      };
    },
    text: () => families.map((write) => write()).join(""),
  };
}

/** A figure that has its value now. */
export function gauge(name: string, about: string, value: number): string {
  return family(name, "gauge", about, sample(name, "", value));
}

function family(name: string, type: "counter" | "gauge" | "histogram", about: string, samples: string): string {
  return `# HELP ${name} ${about}\n# TYPE ${name} ${type}\n${samples}`;
}

function sample(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}\n`;
}

/** The buckets of a histogram are cumulative. */
function buckets(
  name: string,
  labels: string,
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
): string {
  const before = labels === "" ? "" : `${labels},`;
  let total = 0;
  const lines = counts.map((count, index) => {
    total += count;
    return sample(`${name}_bucket`, `${before}le="${bounds[index] ?? "+Inf"}"`, total);
  });
  return [...lines, sample(`${name}_sum`, labels, sum), sample(`${name}_count`, labels, total)].join("");
}

/** The samples of one figure, by their labels as they are written. */
function createSeries<Value>(make: () => Value) {
  const series = new Map<string, Value>();
  function of(labels: Labels): Value {
    const text = labelText(labels, false);
    const key = series.has(text) || series.size < maxSeries ? text : labelText(labels, true);
    let found = series.get(key);
    if (found === undefined) {
      found = make();
      series.set(key, found);
    }
    return found;
  }
  const lines = (write: (labels: string, value: Value) => string) =>
    [...series].map(([labels, value]) => write(labels, value)).join("");
  return { of, lines };
}

function labelText(labels: Labels, isFull: boolean): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${isFull && openLabels.has(name) ? "other" : escaped(value)}"`)
    .join(",");
}

function escaped(value: string): string {
  return value
    .slice(0, maxLabelCharacters)
    .replace(/\p{Surrogate}/gu, "\uFFFD")
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("\n", "\\n");
}
