/**
 * Implements the commands about nodes and the cluster: list, health, explain, roles, logs, audit,
 * configuration, bundles, etcd.
 *
 * <pre>
 *   node …     ──▶ NodeRows        ┐
 *   health     ──▶ HealthReport    ├─▶ Document ──▶ Output
 *   explain    ──▶ HealthReport    │      ▲
 *                  + explain.yaml ─┘      │
 *   audit      ──▶ AuditReading ──────────┘   of a node's or of Kubernetes' log
 *   node logs, debug logs ──▶ LogStream ──▶ LogPrinter   as lines, until interrupted
 * </pre>
 *
 * <p>{@code HealthReport} begins with the roots and puts their victims below; the texts of {@code
 * explain.yaml} say about each code what it means and what to do.
 *
 * <p>Not promised: a value of a node that does not answer. Its last known state is shown as such.
 *
 * <p>Why not let the node format its reports: an older node would give an older text for what a
 * newer polisctl knows better, and scripts read the same fields as JSON.
 */
package dev.polis.ctl.node;
