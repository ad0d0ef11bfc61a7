/**
 * Answers calls about health: from the wire to the health table and back.
 *
 * <pre>
 *   management organ ──┐ GetHealth ──▶ HealthCalls ──▶ HealthRegistry (organs, roles)
 *   debug organ ───────┘ Explain   ──▶     │      ──▶ Explainer ──▶ Supervisor (runnables), BootReport (waits)
 * </pre>
 *
 * <p>This package is in the platform because two organs serve these methods and organs do not share
 * code. It also has their other common part, {@link dev.polis.health.calls.ServingOrgan}.
 *
 * <p>Not promised: authorization. Each service that hands calls to this class says in its own
 * options who may call.
 *
 * <p>Why not one service on both listeners? A method has one authorization rule, and the two
 * listeners need different ones.
 */
@Export
@Version("1.1.0")
package dev.polis.health.calls;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
