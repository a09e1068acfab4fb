"""The words that decide what a name is: counters, metrics, and what is neither. In their plain form (`names.plain`)."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _ordered(text: str) -> list[str]:
    return text.split()


# Counters, the best first: where a line prints several, the first of these is its step.
STEPS = _ordered(
    """global_step global_steps total_timesteps total_t num_env_steps env_step num_env_steps_sampled timesteps_total
    trainer_step train_step training_step iter iteration iters iterations it training_iteration step current_steps
    current_step optimizer_step global_update num_updates update updates up upd tree round boosting_round trial
    micro_step batch batches minibatch mini_batch timesteps timestep ts episode episodes episode_num steps
    generation gen itr ite tick iteración iteracion itération schritt итерация шаг 迭代 步数"""
)
STEP_RANK = {name: rank for rank, name in enumerate(STEPS)}
NESTED_STEPS = {"global_step", "global_steps", "step", "iter", "iteration", "total_timesteps", "num_updates", "trainer_step"}
WITHIN_EPOCH = {"batch", "batches", "minibatch", "mini_batch", "micro_step"}
EPOCHS = {
    "эпоха",
    "época",
    "epoche",
    "轮次",
    "epoch",
    "epochs",
    "epch",
    "ep",
    "current_epoch",
    "epoch_num",
    "train_epoch",
    "epoch_id",
    "cur_epoch",
}
EPOCH_BATCH = {"TRAIN Batch", "CV Batch"}  # WeNet: of the epoch the batch
EPISODES_TOO = {"ep"}  # the epoch only where no better name tells it
PARTS = _words("bucket set fold task class head layer level client agent player dataset domain")  # of which there are few
TABLE_STEPS = {"#", "iter_num", "example_counter"}
TABLE_EPOCHS = {"e"}
WITHIN = {"batch", "iter", "iteration", "step", "batches"}
SIDE_SPLITS = {"valid", "validation", "val", "test", "testing", "eval", "evaluation", "dev"}
SPLITS = {"train", "training", "valid", "validation", "val", "test", "testing", "eval", "evaluation", "dev"}

PLAIN = re.compile(r"[\s.\-]+")
WORDS = re.compile(r"[a-z]+|\d+")

# Words of a name that make it a metric wherever it stands.
METRIC_WORDS = _words(
    """loss losses acc accuracy error err auc auroc auprc f1 fb1 fscore precision recall bleu rouge rougel rougelsum meteor
    cider chrf cer wer ter per ppl perplexity map ap ar iou miou giou dice psnr ssim fid kid lpips mse rmse mae mape
    smape msle rmsle pyrmsle r2 logloss nll elbo kl kld entropy reward rewards return returns score scores lr
    learning grad gradnorm gnorm norm throughput tps tflops tflop flops mfu hfu speed fps ips wps ups wpb bpc bpb
    bpd top1 top5 hits mrr mr ndcg hr corr correlation pearson spearman pearsonr spearmanr mcc matthews kappa eer
    dcf sdr snr si sdri qps latency cost objective obj fitness likelihood lld elapsed crossentropy hinge rank1 rank5
    specificity sensitivity jaccard brier ece kendall tau concordance cindex pck oks perf metric metrics val valid
    validation train test eval dev sps specific success winrate win explained variance clipfrac approx advantage adv
    vf vloss ploss gen disc discriminator generator q qf qloss td bce ce kldiv logp logprob l1 l2 rms binary
    categorical sparse multi mlogloss merror ndcg5 ndcg10 gini huber quantile poisson tweedie aucpr rmsd rmspe stdev
    tagger ner parser senter spans_sc cats_score las uas inertia lowerbound functionvalue"""
)
METRIC_TAIL = re.compile(
    r"(?:loss|acc|accuracy|error|auc|f1|lr|mse|mae|rmse|norm|reward|score|ppl|iou|bleu|entropy)$|^l_r$|^(?:loss|acc|map|bleu|rouge|top)\d*|[a-z]@\d{1,4}$|(?:rew|reward|len|length)_mean$"
)
SPEED = re.compile(
    r"(?:/|_per_|\bper\b|per_?)(?:s|sec|second|it|iter|step|batch|device|gpu|thread|min|minute|hour)(?![a-z])", re.I
)

# Whole names that are never metrics, and words that make a name none.
NEVER = _words(
    """eta pid port rank local_rank node_rank world_size seed version epochs num_epochs max_epochs total_epochs
    n_epochs max_steps total_steps num_steps warmup_steps batch_size micro_batch_size train_batch_size
    eval_batch_size global_batch_size num_workers workers num_examples num_samples total remaining best
    initscore init_score pavg
    best_iteration bestiteration besttest best_score best_epoch v_num line percentage progress max_mem left_time
    time_left eval_samples train_samples predict_samples mem memory gpu_mem gpu_memory ram cpu size images instances
    shape dim hidden_size vocab_size num_params params parameters trainable_params non_trainable_params total_params
    num_layers layers heads samples consumed_samples consumed_tokens seen_tokens num_tokens total_weights total_time
    time_total patience min_delta stalled sen ppo_ep wpb bsz wandb_version duration started finished date timestamp
    hyp_len ref_len trained_tokens tokens_seen targets labels img_size image_size
    time_stamp timestamps uptime pad_token_id eos_token_id bos_token_id exit_code exitcode returncode code errno
    signal retry retries attempt n_updates allocated reserved max_allocated max_reserved memallocated
    maxmemallocated oom gb_free smpl skipped eta_seconds remaining_time elapsed_time_str total_flos num_classes classes
    length max_length seq_length job_id jobid id uid gid index idx num count device cuda node host hostname address
    addr checkpoint ckpt support loaded episode_t batch_id max_accuracy percent_complete jobs starttime endtime"""
)
REPEATS = {"best", "previous", "prev"}
NEVER_WORDS = _words(
    """memory mem seed pid port version checkpoint ckpt attempted pretrained params parameters previous last_best
    cpumem gpumem allocated reserved hysteresis skipped nan_iterations words_labels workers oom kb mb gb tb kib mib gib tib"""
)
NEVER_HEAD = re.compile(
    r"^(?:num|number|n|max|min|total|warmup|save|log(?!_prob|_lik)|logging|gradient_accumulation|eval_every|batch_size|instantaneous|early_stop\w*)_"
)
# `PERF_WITH_AVX2=1`, `OMP_NUM_THREADS: 4`: a switch of a build or of the environment, where its value is a whole number.
SWITCH = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
HYPER = re.compile(
    r"(?:^|_)(?:weights?|coef|coeff|alpha|gamma|beta|beta\d|betas|momentum|mom|weight_decay|decay|dropout|eps|epsilon|ratio|temperature|top_k|top_p|warmup|"
    r"sampling_ratio|sampling|threshold|hysteresis|capability|smoothing|interval|freq|frequency|every|patience|factor|"
    r"optimizer|scheduler|estimate|min_lr|max_lr|base_lr|init_lr|initial_lr|lr_mult|size|len|length|width|height|depth|dim|"
    r"layers|hidden|steps|epochs|workers|gpus|devices|nodes|seed|bits|rank|lora_\w+|clip_grad|max_grad_norm|(?:norm|grad|gradient)_clip|subsample|colsample_\w+|base_score|min_child_weight)$"
)
# What settings are called as well, measured: `cur_beta`, `Mean episode length`, `train/base_height`.
MEASURED = re.compile(
    r"(?:episode|ep)_(?:len|length)$|(?:corr|cur|current)_|(?:(?:mean|average|avg)_|(?:train|val|valid|eval|test)/).*(?:len|length|width|height|depth|ratio)$"
)
SOURCE_FILE = re.compile(
    r"\.(?:py|pyx|cpp|cc|cxx|hpp|cu|cuh|go|rs|java|kt|scala|js|ts|jl|sh|so|ipynb|txt|json|yaml|yml|pt|pth|bin)$", re.I
)
HOST = re.compile(r"(?:localhost|^\w+\.\w+\.\w+|\.(?:com|org|io|net|local|svc|internal|cn))$", re.I)
