import { MetricUnit, Metrics as PowertoolsMetrics } from "@aws-lambda-powertools/metrics";
import type { CallFigures, Metrics } from "../world/world.ts";

const units = {
  WakeToFirstToken: MetricUnit.Milliseconds,
  ModelTime: MetricUnit.Milliseconds,
  InputTokens: MetricUnit.Count,
  OutputTokens: MetricUnit.Count,
} satisfies Record<keyof CallFigures, string>;

/**
 * Metrics of CloudWatch in its embedded format: each record is one log line, and no call. The environment has the namespace
 * (`POWERTOOLS_METRICS_NAMESPACE`) and the one dimension, `service` (`POWERTOOLS_SERVICE_NAME`): each further value of a
 * dimension would cost as much again.
 */
export function openEmfMetrics(): Metrics {
  const metrics = new PowertoolsMetrics();
  return {
    async record(figures) {
      for (const [name, value] of Object.entries(figures))
        metrics.addMetric(name, units[name as keyof CallFigures], value);
      metrics.publishStoredMetrics();
    },
  };
}
