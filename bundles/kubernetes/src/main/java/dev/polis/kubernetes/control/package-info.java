/**
 * Runs Kubernetes' control plane on this node: the role KubernetesController.
 *
 * <pre>
 *   ControlPlane (one run for each address of the node)
 *      │ 1  ControlMaterial: keys from etcd ─▶ files of ControlFolder, 0600
 *      │ 2  HostAddress: the address on lo, on a node at a loopback address
 *      │ 3  kube-apiserver ── ready? ─┬▶ 4  kube-controller-manager, kube-scheduler
 *      │                              └▶ 5  Reconciler: roles, bindings, storage class
 *      │ 6  NodeLabelTask
 *      └ 7  each ten minutes: ControlMaterial again; a changed authority or command starts anew
 *
 *   ControlProcess: one child process ─▶ ProcessTask (adopts, delivers the log, ends one that hangs) + its own probe
 * </pre>
 *
 * <p>The programs outlive this code: their command lines and the digests of what they read only
 * once are the same after a restart, so they are adopted. They read again what rotates, without a
 * restart: the API server's certificate, its certificates as a client of etcd, kubelets and other
 * servers, the clients' certificates in kubeconfigs, and the configuration of encryption. A change
 * of what a program reads only once restarts it: the certificates of authorities, after some six
 * years, in the controller manager and the scheduler; the service account key (never); and another
 * program under the same path. The essay of {@code pki} has a row for each.
 *
 * <p>A client without certificate and token gets answers only at the paths of the API server's
 * health. What others ask for is in the API server's audit log, which is beside this folder, as the
 * role's end does not end what was recorded. A namespace takes Pods of the standard "baseline"
 * unless its labels say otherwise; {@code kube-system} takes all.
 *
 * <p>Where the node is root, each program has an account, and each file one reader ({@link
 * dev.polis.kubernetes.control.ControlOwners}). The API server has the folder of its audit log for
 * itself.
 *
 * <p>Key and certificate of one identity are one file, so that no program finds one without the
 * other.
 *
 * <p>When the role is removed, the programs end in the order scheduler, controller manager, API
 * server; files and address go. What the cluster keeps, under {@code /registry/} in etcd, and its
 * keys stay: other controllers use them, and the role may come back.
 *
 * <p>Not promised: an API server without a member of consensus on its node. Why not static Pods, as
 * others do: a control plane that its own kubelet runs cannot be started before there is one.
 */
package dev.polis.kubernetes.control;
