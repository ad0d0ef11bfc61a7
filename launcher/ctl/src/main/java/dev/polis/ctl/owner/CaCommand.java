package dev.polis.ctl.owner;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import dev.polis.ctl.session.CtlException;
import dev.polis.ctl.session.CtlFiles;
import dev.polis.ctl.session.ExitCode;
import dev.polis.ctl.session.Session;
import dev.polis.ctl.session.SessionCommand;
import dev.polis.ctl.session.Subcommands;
import dev.polis.ctl.session.WireName;
import dev.polis.pki.CaBundle;
import dev.polis.pki.Ed25519;
import dev.polis.pki.Fingerprint;
import dev.polis.pki.UserCredentials;
import dev.polis.wire.cluster.CaStatus;
import dev.polis.wire.cluster.CaStep;
import dev.polis.wire.cluster.GetCaRequest;
import dev.polis.wire.cluster.GetEtcdCaRequest;
import dev.polis.wire.cluster.RetireCaRequest;
import dev.polis.wire.cluster.RetireEtcdCaRequest;
import dev.polis.wire.cluster.RotateCaRequest;
import dev.polis.wire.cluster.RotateEtcdCaRequest;
import java.security.KeyPair;
import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Groups the commands that replace the cluster's CA, and etcd's. */
@Command(
    name = "ca",
    description = {
      "Shows and replaces the CA that issues the certificates of the cluster's nodes and users, or the",
      "one of etcd (--of etcd): first 'ca rotate', then 'ca retire'. In between certificates of both",
      "are accepted."
    })
@Subcommands({CaCommand.Status.class, CaCommand.Rotate.class, CaCommand.Retire.class})
public final class CaCommand {

  /** Names a CA on the command line. */
  enum Ca {
    /** The CA of nodes and users. */
    cluster,
    /** The CA of etcd's members and of its clients. */
    etcd
  }

  /** Selects a CA. */
  static final class Of {
    @Option(
        names = "--of",
        paramLabel = "CA",
        defaultValue = "cluster",
        description = "the CA: ${COMPLETION-CANDIDATES}; ${DEFAULT-VALUE} without this option")
    Ca ca;
  }

  /** Asks for the state of a rotation, or makes a step of it. */
  @FunctionalInterface
  interface Step {
    CaStatus after(CaStatus before) throws InterruptedException;
  }

  /** Shows the CA, and is the base of the commands that change it. */
  abstract static class Base extends SessionCommand {

    private static final Duration PAUSE = Duration.ofMillis(500);
    private static final Duration REMARK = Duration.ofSeconds(5);

    /**
     * The time for all nodes. One that runs takes a step of the cluster's CA within seconds, and
     * one that is started meanwhile within two minutes; for etcd's CA each member starts etcd
     * again, one after the other.
     */
    private static final Duration PATIENCE = Duration.ofMinutes(3);

    static CaStatus etcd(Session session) throws InterruptedException {
      return session.call(
          () -> session.clusterCa().getEtcdCa(GetEtcdCaRequest.getDefaultInstance()));
    }

    static void refuseForce(boolean force) {
      if (force) {
        throw new CtlException(
            ExitCode.USAGE,
            "--force is for the cluster's CA alone: a node that misses a step of etcd's CA is cut off from"
                + " etcd; start it, or take its role away: node role remove NODE ConsensusMember");
      }
    }

    /**
     * Waits until the new CA issues and no node waits for another step; says which nodes it waits
     * for, each time that others remain.
     *
     * @param late the message after {@link #PATIENCE}, with the place of the waiting nodes
     * @param next asks again, and makes the next step if it is time for that
     */
    CaStatus await(CaStatus first, Predicate<CaStatus> enough, String late, Step next)
        throws InterruptedException {
      long began = System.nanoTime();
      List<String> waiting = List.of();
      CaStatus status = first;
      while ((status.getStep() == CaStep.CA_STEP_PREPARED || status.getWaitingNodesCount() > 0)
          && !enough.test(status)) {
        List<String> now = status.getWaitingNodesList();
        if (System.nanoTime() - began > PATIENCE.toNanos()) {
          throw new CtlException(late.formatted(String.join(", ", now)));
        }
        // Nodes that run need less time than this, and are no news.
        if (System.nanoTime() - began > REMARK.toNanos()
            && !now.isEmpty()
            && !now.equals(waiting)) {
          waiting = now;
          remark("waiting for these nodes: " + String.join(", ", now));
        }
        Thread.sleep(PAUSE);
        status = next.after(status);
      }
      return status;
    }

    CaStatus awaitEtcd(CaStatus first, Step next) throws InterruptedException {
      return await(
          first,
          _ -> false,
          "the rotation of etcd's CA waits for these nodes, and was not ended: %s; start those that are off and repeat the command, which continues",
          next);
    }

    /** Writes the CAs that the cluster trusts to the folder of this user. */
    static void trust(Session session, CaStatus status) {
      CtlFiles.write(session.target().clusterCa(), bundle(status).pemBytes());
    }

    private static CaBundle bundle(CaStatus status) {
      return new CaBundle(
          Stream.of(status.getIssuing(), status.getOther())
              .filter(der -> !der.isEmpty())
              .map(OwnerCertificate::answered)
              .toList());
    }

    /** Gets this user a certificate of the CA that issues now. */
    static void renew(Session session, CaStatus status) throws InterruptedException {
      CaBundle ca = bundle(status);
      UserCredentials user = session.credentials();
      if (ca.isCurrent(user.certificate())) {
        return;
      }
      KeyPair key = new KeyPair(Ed25519.publicKey(user.privateKey()), user.privateKey());
      OwnerCertificate.write(
          session.target(), ca, OwnerCertificate.fetch(session, user.user(), key, ca));
    }

    ExitCode show(Ca ca, CaStatus status) {
      return print(text(ca, status), json(status));
    }

    static JsonObject json(CaStatus status) {
      JsonObject result = new JsonObject();
      result.addProperty("step", WireName.shortened(status.getStep()));
      result.addProperty("issuing", fingerprint(status.getIssuing()));
      if (!status.getOther().isEmpty()) {
        result.addProperty("other", fingerprint(status.getOther()));
      }
      result.add("waitingNodes", array(status.getWaitingNodesList()));
      result.add("waitingUsers", array(status.getWaitingUsersList()));
      return result;
    }

    private static JsonArray array(List<String> names) {
      JsonArray array = new JsonArray();
      names.forEach(array::add);
      return array;
    }

    private static String fingerprint(ByteString der) {
      return Fingerprint.of(OwnerCertificate.answered(der)).hex();
    }

    static String text(Ca ca, CaStatus status) {
      boolean etcd = ca == Ca.etcd;
      String whose = etcd ? " of etcd" : "";
      String option = etcd ? " --of etcd" : "";
      String issuing = fingerprint(status.getIssuing());
      return switch (status.getStep()) {
        case CA_STEP_PREPARED ->
            "The CA %s%s issues certificates. Its successor is %s.\n%s\nNext: ca rotate%s, which continues."
                .formatted(
                    issuing,
                    whose,
                    fingerprint(status.getOther()),
                    waiting(
                        "Nodes that do not trust the successor yet", status.getWaitingNodesList()),
                    option);
        case CA_STEP_ISSUING ->
            "The CA %s%s issues certificates. Those of the former CA %s are accepted until 'ca retire%s'.\n%s\n%s"
                .formatted(
                    issuing,
                    whose,
                    fingerprint(status.getOther()),
                    option,
                    waiting(
                        "Nodes with a certificate of the former CA", status.getWaitingNodesList()),
                    etcd
                        ? "Next: ca retire --of etcd."
                        : waiting(
                                "Users with a certificate of the former CA",
                                status.getWaitingUsersList())
                            + "\nNext: ca retire, which waits for no user: each gets a new certificate with takeownership or 'operator take'.");
        case CA_STEP_ONE, CA_STEP_UNSPECIFIED, UNRECOGNIZED ->
            "%s one CA, %s.%s"
                .formatted(
                    etcd ? "The members of etcd trust" : "The cluster trusts",
                    issuing,
                    !etcd || status.getWaitingNodesCount() == 0
                        ? ""
                        : "\n"
                            + waiting(
                                "Nodes that have not started etcd with it alone yet",
                                status.getWaitingNodesList()));
      };
    }

    static String waiting(String what, List<String> names) {
      return "%s: %s.".formatted(what, names.isEmpty() ? "none" : String.join(", ", names));
    }
  }

  /** Shows the step. */
  @Command(
      name = "status",
      description = {
        "Shows the fingerprints of the cluster's CA and of etcd's, the step of a rotation of each, and the",
        "nodes and users that lack something for the next step."
      })
  static final class Status extends Base {
    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      CaStatus status =
          session.call(() -> session.clusterCa().getCa(GetCaRequest.getDefaultInstance()));
      trust(session, status);
      CaStatus etcd = etcd(session);
      JsonObject result = json(status);
      result.add("etcd", json(etcd));
      return print(text(Ca.cluster, status) + "\n\n" + text(Ca.etcd, etcd), result);
    }
  }

  /** Makes a new CA and lets it issue. */
  @Command(
      name = "rotate",
      description = {
        "Makes a new CA, waits until each node trusts it beside the present one, then lets it issue",
        "certificates and waits until each node has one. The clients' calls continue meanwhile. It may be",
        "repeated after an interruption, and then continues the same rotation."
      })
  static final class Rotate extends Base {

    @Mixin private Of of;

    @Option(
        names = "--force",
        description = {
          "does not wait for nodes that do not trust the new CA yet; such a node learns it when it is",
          "back, from the certificate that the former CA has issued to the new one"
        })
    boolean force;

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      if (of.ca == Ca.etcd) {
        refuseForce(force);
        return show(
            Ca.etcd,
            awaitEtcd(
                advanceEtcd(session),
                before ->
                    before.getStep() == CaStep.CA_STEP_ISSUING
                        ? etcd(session)
                        : advanceEtcd(session)));
      }
      CaStatus status =
          await(
              advance(session),
              now -> force && now.getStep() == CaStep.CA_STEP_ISSUING,
              "the rotation waits for these nodes, and was not ended: %s; start them and repeat the command, which continues, or use --force",
              // Another owner may end this rotation meanwhile; a further step would begin a second
              // one.
              before ->
                  before.getStep() == CaStep.CA_STEP_PREPARED
                      ? advance(session)
                      : present(session));
      renew(session, status);
      return show(Ca.cluster, present(session));
    }

    private static CaStatus advanceEtcd(Session session) throws InterruptedException {
      return session.call(
          () -> session.clusterCa().rotateEtcdCa(RotateEtcdCaRequest.getDefaultInstance()));
    }

    private CaStatus present(Session session) throws InterruptedException {
      return session.call(() -> session.clusterCa().getCa(GetCaRequest.getDefaultInstance()));
    }

    private CaStatus advance(Session session) throws InterruptedException {
      RotateCaRequest request = RotateCaRequest.newBuilder().setForce(force).build();
      CaStatus status = session.call(() -> session.clusterCa().rotateCa(request));
      // Before the next call: the new CA may issue from then on.
      trust(session, status);
      return status;
    }
  }

  /** Ends the trust in the former CA. */
  @Command(
      name = "retire",
      description = {
        "Ends the trust in the former CA: each node refuses its certificates within a second, also on",
        "open connections. It is refused while a node has a certificate of the former CA."
      })
  static final class Retire extends Base {
    @Option(
        names = "--force",
        description = {
          "does not wait for nodes with a certificate of the former CA; such a node gets a new one",
          "with its join key when it is back"
        })
    boolean force;

    @Mixin private Of of;

    @Override
    protected ExitCode run(Session session) throws InterruptedException {
      if (of.ca == Ca.etcd) {
        refuseForce(force);
        return show(
            Ca.etcd,
            awaitEtcd(
                session.call(
                    () ->
                        session.clusterCa().retireEtcdCa(RetireEtcdCaRequest.getDefaultInstance())),
                _ -> etcd(session)));
      }
      CaStatus before =
          session.call(() -> session.clusterCa().getCa(GetCaRequest.getDefaultInstance()));
      if (before.getStep() == CaStep.CA_STEP_ISSUING) {
        // The former certificate of this user would end together with the call.
        renew(session, before);
      }
      RetireCaRequest request = RetireCaRequest.newBuilder().setForce(force).build();
      CaStatus after = session.call(() -> session.clusterCa().retireCa(request));
      trust(session, after);
      return show(Ca.cluster, after);
    }
  }
}
