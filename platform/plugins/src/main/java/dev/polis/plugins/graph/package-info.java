/**
 * Shows how the plugins of a running node are wired: the provider and the users of each service,
 * and the effect of replacing the provider.
 *
 * <pre>
 *   Declarative Services: references and what they are bound to ──┐
 *   framework: services without a component, packages ────────────┼──▶ PluginGraph ──▶ Plugins.Graph, explain
 *   FollowedContractSource: who is behind a proxy, how many calls wait ─┘
 * </pre>
 *
 * <p>Each call reads the graph again; it may contain a change that happens during the read, or not.
 *
 * <p>Not promised: an edge for code that looks a service up and releases it between two calls. The
 * framework knows users only as long as they hold a service.
 *
 * <p>Why not the graph of the boot plan? It comes from the declarations of bundles, before any of
 * them runs. This graph has the actual bindings.
 */
@Export
@Version("1.0.0")
package dev.polis.plugins.graph;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
