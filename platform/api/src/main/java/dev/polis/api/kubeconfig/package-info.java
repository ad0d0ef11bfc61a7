/**
 * Credentials of Kubernetes for developers, from the organ that has its authority.
 *
 * <pre>
 *   debug ── issue(user, groups) ──▶ KubeconfigIssuer ◀── provided by ── kubernetes, where a controller may run
 *                                          │
 *                                          └── kubeconfig: new key, short certificate, this node's API server
 * </pre>
 *
 * <p>Who may ask is the caller's business: the result is any right in Kubernetes.
 *
 * <p>Not promised: that a certificate can be taken back. It is in no list, and ends by itself.
 *
 * <p>Why not let the caller issue certificates itself: the authority's key would be read by a
 * second organ, one that strangers reach.
 */
@Export
@Version("1.0.0")
package dev.polis.api.kubeconfig;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
