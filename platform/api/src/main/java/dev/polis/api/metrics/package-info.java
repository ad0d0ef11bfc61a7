/**
 * Passes on the metrics of programs that count for themselves.
 *
 * <pre>
 *   etcd ◀── unix socket ── consensus: MetricsExporter "etcd" ──▶ metrics organ: /metrics/etcd
 *   any child ◀──────────── its organ or role: MetricsExporter ─▶ metrics organ: /metrics/NAME
 * </pre>
 *
 * <p>An organ or role that starts such a program registers a {@link
 * dev.polis.api.metrics.MetricsExporter} as an OSGi service. The metrics organ finds it there and
 * answers HTTPS requests for {@code /metrics/NAME}; the program itself listens where only the node
 * reaches it.
 *
 * <p>Not promised: that a page exists all the time. It comes and goes with the service.
 *
 * <p>Why does the metrics organ not call the programs itself? Each program needs its own way, such
 * as a socket or a certificate, and some do not answer while they start; only their owner knows.
 */
@Export
@Version("1.0.0")
package dev.polis.api.metrics;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
