package dev.polis.consensus;

import dev.polis.etcd.EtcdAccess;
import dev.polis.etcd.EtcdAdmin;
import dev.polis.etcd.EtcdClient;
import dev.polis.etcd.EtcdEndpoint;
import dev.polis.etcd.EtcdException;
import dev.polis.etcd.EtcdMember;
import dev.polis.etcd.EtcdStatus;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/**
 * Asks each member of etcd for its status, all at the same time. It needs no quorum: the local
 * member alone says which members there are.
 *
 * @param clusterId the id of the cluster
 * @param answers one for each member, that of the local member first
 */
record MemberSurvey(long clusterId, List<Answer> answers) {

  /** The time for an answer of a member that is up, which takes milliseconds. */
  static final Duration PATIENCE = Duration.ofSeconds(2);

  /** Holds the answer of one member, or the reason why there is none. */
  sealed interface Answer {
    EtcdMember member();

    /** Returns its status; empty if it did not answer. */
    default Optional<EtcdStatus> status() {
      return this instanceof Answered(EtcdMember _, EtcdStatus status)
          ? Optional.of(status)
          : Optional.empty();
    }

    /** Returns the reason for its silence; empty if it answered. */
    default String error() {
      return this instanceof Silent(EtcdMember _, String reason) ? reason : "";
    }

    default boolean isLeader() {
      return status().filter(EtcdStatus::isLeader).isPresent();
    }
  }

  /** Is the answer of a member that is up. */
  record Answered(EtcdMember member, EtcdStatus state) implements Answer {}

  /** Stands for a member that did not answer, for this reason. */
  record Silent(EtcdMember member, String reason) implements Answer {}

  MemberSurvey {
    answers = List.copyOf(answers);
  }

  /**
   * Asks all members.
   *
   * @param root root's access to the local member
   * @throws EtcdException if the local member does not answer
   */
  static MemberSurvey of(EtcdAccess root) throws InterruptedException {
    try (EtcdClient client = EtcdClient.connect(root)) {
      EtcdEndpoint own = client.admin().endpoints().getFirst();
      EtcdStatus status = client.admin().status(own, PATIENCE);
      List<EtcdMember> members =
          client.admin().members(own, PATIENCE).stream()
              .sorted(
                  Comparator.comparing((EtcdMember member) -> member.id() != status.memberId())
                      .thenComparing(EtcdMember::name))
              .toList();
      return new MemberSurvey(status.clusterId(), answers(root, members, status));
    }
  }

  private static List<Answer> answers(EtcdAccess root, List<EtcdMember> members, EtcdStatus own)
      throws InterruptedException {
    List<Future<Answer>> asked = new ArrayList<>();
    try (ExecutorService each = Executors.newVirtualThreadPerTaskExecutor()) {
      for (EtcdMember member : members) {
        asked.add(
            each.submit(
                () ->
                    member.id() == own.memberId()
                        ? new Answered(member, own)
                        : answer(root, member)));
      }
      List<Answer> answers = new ArrayList<>();
      for (Future<Answer> one : asked) {
        answers.add(one.get());
      }
      return answers;
    } catch (ExecutionException failed) {
      throw new IllegalStateException("a member of etcd could not be asked", failed.getCause());
    }
  }

  /** Asks one other member. */
  private static Answer answer(EtcdAccess root, EtcdMember member) throws InterruptedException {
    if (member.clientUrls().isEmpty()) {
      return new Silent(member, "it has never started");
    }
    try (EtcdClient client = EtcdClient.connect(root.through(List.of(endpoint(member))))) {
      EtcdAdmin admin = client.admin();
      return new Answered(member, admin.status(admin.endpoints().getFirst(), PATIENCE));
    } catch (EtcdException silent) {
      return new Silent(
          member,
          "it did not answer within %d s: %s".formatted(PATIENCE.toSeconds(), silent.getMessage()));
    }
  }

  /** Returns the endpoint for clients of a member that has started. */
  static EtcdEndpoint endpoint(EtcdMember member) {
    return endpoint(member.clientUrls().getFirst()).named(member.name());
  }

  /** Returns the endpoint of a member's URL. */
  static EtcdEndpoint endpoint(String url) {
    URI at = URI.create(url);
    return EtcdEndpoint.of(at.getHost() + ":" + at.getPort());
  }

  /** Returns the entries that another member has committed and this one's records lack. */
  long lag(EtcdStatus status) {
    long newest =
        answers.stream()
            .flatMap(answer -> answer.status().stream())
            .mapToLong(EtcdStatus::raftIndex)
            .max()
            .orElse(status.raftIndex());
    return Math.max(0, newest - status.raftAppliedIndex());
  }

  /**
   * Returns a voter that is up and that the local member can make the leader; empty if the local
   * member does not lead.
   */
  Optional<EtcdMember> heir() {
    return answers.getFirst().isLeader() ? othersUp().findFirst() : Optional.empty();
  }

  /** Returns the other voters that are up. */
  Stream<EtcdMember> othersUp() {
    return answers.stream()
        .skip(1)
        .filter(answer -> answer.status().isPresent() && !answer.member().learner())
        .map(Answer::member);
  }

  /** Returns the answer of the member with this id. */
  Optional<Answer> find(long memberId) {
    return answers.stream().filter(answer -> answer.member().id() == memberId).findFirst();
  }

  /** Returns the names of the voters, other than this one, that did not answer. */
  List<String> silentBeside(long memberId) {
    return answers.stream()
        .filter(answer -> answer.status().isEmpty() && !answer.member().learner())
        .map(Answer::member)
        .filter(member -> member.id() != memberId)
        .map(EtcdMember::name)
        .toList();
  }
}
