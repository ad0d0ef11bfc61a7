/**
 * Keys, certificates, revocation and identity.
 *
 * <p>Every party of a cluster is an Ed25519 key. One authority per circle of trust (cluster, etcd,
 * Kubernetes) signs short-lived certificates for such keys; a certificate's extended key usage says
 * whether it speaks for a node or for a user.
 *
 * <pre>
 *                     CertificateTemplate (what to say)
 *                              │
 *   PublicKey ──▶ CertificateAuthority ──▶ X509Certificate ──▶ Identity.verify ──▶ Node(id) | User(name)
 *                    │        ▲                  │
 *                    ▼        │                  ├──▶ Renewal   (a third of life left?)
 *                   Crl ──▶ PkiStore ◀───────────┘
 *                             │  ensure = read, or create in one guarded transaction
 *                             ▼
 *                         PkiBackend (etcd)                TlsKeys + TlsTrust ──▶ TlsContexts
 * </pre>
 *
 * <p>Objects live in etcd because any curator may become leader and must issue from the same
 * authority. A guard protects their creation, so two creators at the same time get the same object.
 * Nothing is overwritten because it could not be read: a stored object that does not parse is an
 * error with its key in the message.
 *
 * <p>A peer that is not known yet shows a certificate that its own key signed, often without any
 * name in it. The JDK refuses to read a certificate without an issuer, so {@link
 * dev.polis.pki.TlsContexts} installs a provider that reads it, once for the process. Reading is
 * not trusting: {@link dev.polis.pki.TlsTrust} judges the key where a stranger may come, and
 * refuses the certificate everywhere else.
 *
 * <p>What this does not promise: keys are wiped as far as the runtime allows, and today's runtime
 * allows little; a certificate authority in etcd is as safe as etcd's own access control and disk;
 * established connections are not cut by a revocation, their owners watch the list and do that.
 *
 * <p>Why not PKIX path building with host names: addresses of nodes change and several nodes may
 * share one machine, whereas the id is derived from the key itself. Why not the JDK's key stores:
 * they are files with passwords, and rotation means building the context again.
 */
@Export
@Version("2.2.0")
package dev.polis.pki;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
