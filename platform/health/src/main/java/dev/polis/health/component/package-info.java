/**
 * Offers the node's health table as a service, and finds the absent organs in the framework.
 *
 * <pre>
 *   Supervisor ──────────────▶ HealthComponent ──offers──▶ HealthRegistry ◀── organs: organ("storage", …), …
 *                                    │
 *   bundles, ServiceComponentRuntime ┴──▶ OrganBundles ──▶ OrganDiagnosis
 *                                         (installed organs)   (why one is not there, down to the root)
 * </pre>
 *
 * <p>The plugin manifest of a bundle, which {@link dev.polis.health.PluginDirectory} reads, names
 * its organs. An organ without an open scope is absent. The diagnosis follows the services: the
 * organ's component waits for a service; the bundle that declares the service is stopped, failed,
 * or waits itself; and so on, down to a bundle that waits for no other.
 *
 * <p>Not promised: that an organ whose component is active is well; that is what its scope says.
 *
 * <p>Why read the declarations of bundles at run time, when the boot plan has them? The plan is
 * made before the framework starts and knows nothing of what was stopped or replaced since.
 */
package dev.polis.health.component;
