/**
 * Runs Kubernetes' control plane on this node: the role KubernetesController.
 *
 * <pre>
 *   ControlPlane (one run for each address of the node)
 *      │ 1  ControlMaterial: keys from etcd ─▶ files of ControlFolder, 0600
 *      │ 2  HostAddress: the address on lo, on a node at a loopback address
 *      │ 3  kube-apiserver ── ready? ─┬▶ 4  kube-controller-manager, kube-scheduler
 *      │                              └▶ 5  Reconciler: roles, bindings, storage class
 *      │ 6  NodeObjectTask
 *      └ 7  each ten minutes: ControlMaterial again; a changed authority or command restarts a program
 *
 *   ControlProcess: one child process ─▶ ProcessTask (adopts, delivers the log, ends one that hangs) + its own probe
 * </pre>
 *
 * <p>The programs survive this code: after a restart their command lines, and the digests of the
 * files that they read only once, are the same, so the node adopts them. They read rotated files
 * again, without a restart: the API server's certificate, its certificates as a client of etcd,
 * kubelets and other servers, the clients' certificates in kubeconfigs, and the configuration of
 * encryption. A change of a file that a program reads only once restarts the program: the
 * certificates of authorities, after some six years, in the controller manager and the scheduler;
 * the service account key (never); and another program under the same path. The essay of {@code
 * pki} has a row for each.
 *
 * <p>A new instance of this code reads from its predecessor ({@link
 * dev.polis.kubernetes.control.ReadyServer}) which process of the API server was ready, and with
 * which keys. If that process still runs with the same description, requests reach it at once. A
 * process that was started since counts only after it has reported that it is ready, because an API
 * server that starts refuses requests that it would allow later.
 *
 * <p>A client without certificate and token gets answers only at the paths of the API server's
 * health. The API server's audit log has the requests of all other clients; it is outside this
 * folder, because the records outlive the role. A namespace accepts Pods of the standard "baseline"
 * unless its labels change that; {@code kube-system} accepts all.
 *
 * <p>If the node runs as root, each program has an account, and each file one reader ({@link
 * dev.polis.kubernetes.control.ControlOwners}). The API server has the folder of its audit log for
 * itself.
 *
 * <p>Key and certificate of one identity are one file, so that no program finds one without the
 * other.
 *
 * <p>When the role is removed, the programs end in the order scheduler, controller manager, API
 * server; files and address go. The cluster's objects, under {@code /registry/} in etcd, and its
 * keys stay: other controllers use them, and the role may return.
 *
 * <p>Not promised: an API server without a member of consensus on its node. Why not static Pods, as
 * others do: a control plane that its own kubelet runs cannot start before there is a control
 * plane.
 */
package dev.polis.kubernetes.control;
