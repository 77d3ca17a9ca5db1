/**
 * A registry of counters and histograms, in Prometheus's text format (0.0.4).
 *
 * 1. The label combinations of a metric are bounded: agents, models and tools beyond `maxSeries` combinations count as `other`.
 * 2. Times are in seconds. A name includes its unit, and a counter's name ends in `_total`.
 */

/** The labels of a sample, in output order. */
export type Labels = { readonly [name: string]: string };

export type Counter = {
  /** @param amount 0 or more */
  readonly add: (labels: Labels, amount?: number) => void;
};

export type Histogram = {
  readonly observe: (labels: Labels, value: number) => void;
};

export type MetricRegistry = {
  readonly counter: (name: string, help: string) => Counter;
  /** @param bounds the upper bounds of the buckets, in ascending order, without infinity */
  readonly histogram: (name: string, help: string, bounds: readonly number[]) => Histogram;
  /** Formats all metrics, in the order of their creation. */
  readonly text: () => string;
};

/** The content type of the text format. */
export const contentType = "text/plain; version=0.0.4; charset=utf-8";

/** The maximum number of label combinations of a metric. Prometheus stores a time series for each. */
export const maxSeries = 1_000;

const maxLabelCharacters = 200;

/** The labels whose values are unbounded. */
const openLabels: ReadonlySet<string> = new Set(["agent", "model", "tool"]);

export function createMetricRegistry(): MetricRegistry {
  const families: (() => string)[] = [];
  return {
    counter(name, help) {
      const series = createSeries(() => ({ value: 0 }));
      families.push(() =>
        formatFamily(
          name,
          "counter",
          help,
          series.lines((labels, { value }) => formatSample(name, labels, value)),
        ),
      );
      return {
        add(labels, amount = 1) {
          series.of(labels).value += amount;
        },
      };
    },
    histogram(name, help, bounds) {
      // The last bucket has the values above every bound.
      const series = createSeries(() => ({ counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 }));
      families.push(() =>
        formatFamily(
          name,
          "histogram",
          help,
          series.lines((labels, { counts, sum }) => formatBuckets(name, labels, bounds, counts, sum)),
        ),
      );
      return {
        observe(labels, value) {
          const histogramValue = series.of(labels);
          const index = bounds.findIndex((bound) => value <= bound);
          const bucket = index === -1 ? bounds.length : index;
          histogramValue.counts[bucket] = (histogramValue.counts[bucket] ?? 0) + 1;
          histogramValue.sum += value;
        },
      };
    },
    text: () => families.map((write) => write()).join(""),
  };
}

/** Formats a metric with a current value. */
export function formatGauge(name: string, help: string, value: number): string {
  return formatFamily(name, "gauge", help, formatSample(name, "", value));
}

function formatFamily(name: string, type: "counter" | "gauge" | "histogram", help: string, samples: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples}`;
}

function formatSample(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}\n`;
}

/** The buckets of a histogram are cumulative. */
function formatBuckets(
  name: string,
  labels: string,
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
): string {
  const labelPrefix = labels === "" ? "" : `${labels},`;
  let total = 0;
  const lines = counts.map((count, index) => {
    total += count;
    return formatSample(`${name}_bucket`, `${labelPrefix}le="${bounds[index] ?? "+Inf"}"`, total);
  });
  return [...lines, formatSample(`${name}_sum`, labels, sum), formatSample(`${name}_count`, labels, total)].join("");
}

/** The samples of one metric, keyed by their formatted labels. */
function createSeries<Value>(createValue: () => Value) {
  const series = new Map<string, Value>();
  function of(labels: Labels): Value {
    const text = formatLabels(labels, false);
    const key = series.has(text) || series.size < maxSeries ? text : formatLabels(labels, true);
    let seriesValue = series.get(key);
    if (seriesValue === undefined) {
      seriesValue = createValue();
      series.set(key, seriesValue);
    }
    return seriesValue;
  }
  const lines = (write: (labels: string, value: Value) => string) =>
    [...series].map(([labels, value]) => write(labels, value)).join("");
  return { of, lines };
}

function formatLabels(labels: Labels, isOverflow: boolean): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${isOverflow && openLabels.has(name) ? "other" : escapeLabel(value)}"`)
    .join(",");
}

function escapeLabel(value: string): string {
  return value
    .slice(0, maxLabelCharacters)
    .replace(/\p{Surrogate}/gu, "\uFFFD")
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("\n", "\\n");
}
