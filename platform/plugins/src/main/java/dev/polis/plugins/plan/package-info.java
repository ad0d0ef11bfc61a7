/**
 * Derives from their manifests the order in which the bundles of a node start.
 *
 * <pre>
 *    Require-Capability                          Provide-Capability
 *   ┌──────────┐   service EtcdAccess…   ┌───────────┐        level 0   storage   network      (in parallel)
 *   │ curator  │ ──────────────────────▶ │ consensus │        level 1   consensus
 *   └──────────┘                         └───────────┘        level 2   curator
 * </pre>
 *
 * <p>No list of dependencies is written by hand: from the annotations of Declarative Services, the
 * build writes the services and the needs of each component into the manifest. A bundle comes after
 * all bundles that offer one of its mandatory needs in the namespaces {@code osgi.service} and
 * {@code osgi.extender}. Optional needs do not order anything. The users of a contract that is
 * followed, also optional ones, come after the extender {@code polis.following}, which gives them
 * its proxy; that it is followed is said in the name space {@code polis.followed} by the bundle
 * that has the contract. The plan is refused before any bundle starts if a needed service has no
 * provider, or if bundles wait for each other in a circle. The refusal names the bundles, the
 * service, and which bundle would have to change.
 *
 * <p>Not promised: packages. Whether classes find each other is the framework's to resolve, and the
 * build has resolved it before. Nor is an order a readiness: that a bundle has started does not
 * mean its component could be activated; Declarative Services waits for that.
 *
 * <p>Why not start levels written by hand? They would be a second list of dependencies, and go
 * stale. Why not simply start everything and let the components find each other? It works, but then
 * a missing provider is a node that waits for ever without a word.
 */
@Export
@Version("1.1.0")
package dev.polis.plugins.plan;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
