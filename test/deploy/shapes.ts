/**
 * The fields of the files in examples/deploy, as the Compose Specification and the API of Kubernetes name them. The lists were written by
 * hand and hold only what these files use: they find a slip in a name or a value of the wrong kind, and no more.
 */

export type Shape =
  | "text"
  | "number"
  | "flag"
  | readonly [Shape]
  | { readonly mapOf: Shape }
  | { readonly one: readonly unknown[] }
  | { readonly fields: { readonly [name: string]: Shape }; readonly needs?: readonly string[] };

const fields = (all: { readonly [name: string]: Shape }, ...needs: readonly string[]): Shape => ({
  fields: all,
  needs,
});
const texts = { mapOf: "text" } as const;

const composeService = fields({
  image: "text",
  build: "text",
  command: ["text"],
  environment: texts,
  volumes: ["text"],
  ports: ["text"],
  restart: { one: ["no", "always", "on-failure", "unless-stopped"] },
  stop_grace_period: "text",
  depends_on: {
    mapOf: fields({
      condition: { one: ["service_started", "service_healthy", "service_completed_successfully"] },
    }),
  },
  deploy: fields({ replicas: "number" }),
  healthcheck: fields({ test: ["text"], interval: "text", retries: "number", start_period: "text" }, "test"),
});

export const composeShape = fields(
  {
    name: "text",
    "x-service": composeService,
    services: { mapOf: composeService },
    volumes: { mapOf: { one: [null] } },
  },
  "services",
);

const labels = fields({ matchLabels: texts }, "matchLabels");
const metadata = fields({ name: "text", labels: texts });
const secret = fields({ secretKeyRef: fields({ name: "text", key: "text" }, "name", "key") }, "secretKeyRef");
const header = fields({ name: "text", value: "text" }, "name", "value");
const probe = fields({
  httpGet: fields({ path: "text", port: "text", httpHeaders: [header] }, "port"),
  periodSeconds: "number",
  failureThreshold: "number",
});
const sizes = fields({ cpu: "text", memory: "text" });
const container = fields(
  {
    name: "text",
    image: "text",
    command: ["text"],
    ports: [fields({ name: "text", containerPort: "number" }, "containerPort")],
    env: [fields({ name: "text", value: "text", valueFrom: secret }, "name")],
    readinessProbe: probe,
    livenessProbe: probe,
    resources: fields({ requests: sizes, limits: sizes }),
    securityContext: fields({
      allowPrivilegeEscalation: "flag",
      readOnlyRootFilesystem: "flag",
      capabilities: fields({ drop: ["text"] }),
    }),
  },
  "name",
  "image",
);
const pod = fields(
  {
    metadata: fields({ labels: texts }),
    spec: fields(
      {
        restartPolicy: { one: ["Always", "OnFailure", "Never"] },
        automountServiceAccountToken: "flag",
        terminationGracePeriodSeconds: "number",
        securityContext: fields({
          runAsNonRoot: "flag",
          runAsUser: "number",
          seccompProfile: fields({ type: { one: ["RuntimeDefault", "Unconfined", "Localhost"] } }, "type"),
        }),
        containers: [container],
      },
      "containers",
    ),
  },
  "spec",
);

function objectOf(apiVersion: string, kind: string, spec: Shape): Shape {
  return fields(
    { apiVersion: { one: [apiVersion] }, kind: { one: [kind] }, metadata, spec },
    ...["apiVersion", "kind", "metadata", "spec"],
  );
}

export const kubernetesShapes: { readonly [kind: string]: Shape } = {
  Job: objectOf("batch/v1", "Job", fields({ backoffLimit: "number", template: pod }, "template")),
  Deployment: objectOf(
    "apps/v1",
    "Deployment",
    fields(
      {
        replicas: "number",
        selector: labels,
        strategy: fields({
          type: { one: ["RollingUpdate", "Recreate"] },
          rollingUpdate: fields({ maxUnavailable: "number", maxSurge: "number" }),
        }),
        template: pod,
      },
      "selector",
      "template",
    ),
  ),
  Service: objectOf(
    "v1",
    "Service",
    fields({ selector: texts, ports: [fields({ name: "text", port: "number", targetPort: "text" }, "port")] }),
  ),
  PodDisruptionBudget: objectOf(
    "policy/v1",
    "PodDisruptionBudget",
    fields({ minAvailable: "number", selector: labels }),
  ),
};

/** What does not fit, each with its path. */
export function problemsOf(value: unknown, shape: Shape, path = ""): readonly string[] {
  if (shape === "text") return typeof value === "string" ? [] : [`${path} is no text`];
  if (shape === "number") return typeof value === "number" ? [] : [`${path} is no number`];
  if (shape === "flag") return typeof value === "boolean" ? [] : [`${path} is neither true nor false`];
  if ("one" in shape) return shape.one.includes(value) ? [] : [`${path} is ${JSON.stringify(value)}`];
  if (!("mapOf" in shape) && !("fields" in shape)) {
    if (!Array.isArray(value)) return [`${path} is no list`];
    return value.flatMap((one: unknown, at) => problemsOf(one, shape[0], `${path}[${at}]`));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [`${path} is no object`];
  const members = Object.entries(value) as readonly (readonly [string, unknown])[];
  if ("mapOf" in shape) return members.flatMap(([name, one]) => problemsOf(one, shape.mapOf, `${path}.${name}`));
  const missing = (shape.needs ?? []).filter((name) => !Object.hasOwn(value, name));
  return [
    ...missing.map((name) => `${path}.${name} is missing`),
    ...members.flatMap(([name, one]) => {
      const known = shape.fields[name];
      return known === undefined ? [`${path}.${name} is unknown`] : problemsOf(one, known, `${path}.${name}`);
    }),
  ];
}
