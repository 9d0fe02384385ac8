"""How close denoised rows come to the clean ones: measures, tasks, a run, and the tables of docs/denoising.md."""
