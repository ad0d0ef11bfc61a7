/**
 * Describes the cluster from this node's view: its membership, its identity and its permissions.
 *
 * <pre>
 *            parameters (flags / fw_cfg / ESP)                    removed by the operator
 *  UNKNOWN ──bootstrap────────────────────────▶ HOME ───────────────────────▶ DISOWNING
 *     │                                         ▲  ▲ │ lost consensus
 *     └─register─▶ FOREIGN ─approved─▶ TRUSTED ─┘  │ ▼
 *     └─join (sealed configuration present) ────▶ SPLIT
 * </pre>
 *
 * <p>Each organ that needs an identity or consensus waits here for HOME instead of asking storage,
 * consensus and curator one by one.
 *
 * <p>Not promised: that HOME lasts. A node that loses consensus becomes SPLIT and returns; a
 * consumer decides for itself what that means for its work, and watches the value.
 */
@Export
@Version("1.1.0")
package dev.polis.api.cluster;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
